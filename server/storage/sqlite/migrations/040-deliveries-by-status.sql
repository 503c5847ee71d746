-- Lists of deliveries read the ranges of deliveries_by_status.
DROP INDEX IF EXISTS deliveries_of_merchant;
