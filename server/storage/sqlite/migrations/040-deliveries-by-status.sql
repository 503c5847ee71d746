-- Lists of deliveries read the ranges of deliveries_by_status.
DROP INDEX deliveries_of_merchant;
