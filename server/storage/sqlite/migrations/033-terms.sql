-- What an operator has agreed with a merchant, as JSON (D103); NULL: as the settings of the server say.
ALTER TABLE merchants ADD terms TEXT;
