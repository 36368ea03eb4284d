-- How many users each company has, kept by the database itself, whoever writes.
INSERT INTO `user_counts` (`company_id`, `living`, `total`)
SELECT `company_id`, sum(`deleted_at` IS NULL), count(*) FROM `users` GROUP BY `company_id`;
--> statement-breakpoint
CREATE TRIGGER `users_counted_when_made` AFTER INSERT ON `users` BEGIN INSERT INTO `user_counts` (`company_id`, `living`, `total`) VALUES (new.`company_id`, new.`deleted_at` IS NULL, 1) ON CONFLICT (`company_id`) DO UPDATE SET `living` = `living` + excluded.`living`, `total` = `total` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `users_counted_when_deleted` AFTER UPDATE OF `deleted_at` ON `users` BEGIN UPDATE `user_counts` SET `living` = `living` + (new.`deleted_at` IS NULL) - (old.`deleted_at` IS NULL) WHERE `company_id` = new.`company_id`; END;
--> statement-breakpoint
CREATE TRIGGER `users_counted_when_purged` AFTER DELETE ON `users` BEGIN UPDATE `user_counts` SET `living` = `living` - (old.`deleted_at` IS NULL), `total` = `total` - 1 WHERE `company_id` = old.`company_id`; END;
