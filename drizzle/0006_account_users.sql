CREATE TABLE `account_user_counts` (
	`account_id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`users` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `account_users` (
	`company_id` text NOT NULL,
	`account_id` text NOT NULL,
	`user_id` text NOT NULL,
	`bindings` integer NOT NULL,
	`email` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`last_login_at` integer,
	PRIMARY KEY(`account_id`, `user_id`)
);
--> statement-breakpoint
CREATE INDEX `account_users_of_user` ON `account_users` (`user_id`);--> statement-breakpoint
CREATE INDEX `account_users_by_creation` ON `account_users` (`company_id`,`account_id`,`created_at`,`user_id`);--> statement-breakpoint
CREATE INDEX `account_users_by_update` ON `account_users` (`company_id`,`account_id`,`updated_at`,`user_id`);--> statement-breakpoint
CREATE INDEX `account_users_by_email` ON `account_users` (`company_id`,`account_id`,`email`,`user_id`);--> statement-breakpoint
CREATE INDEX `account_users_by_last_login` ON `account_users` (`company_id`,`account_id`,`last_login_at`,`user_id`);--> statement-breakpoint
DROP INDEX `group_bindings_of_account`;
--> statement-breakpoint
CREATE TRIGGER `account_users_counted_when_attached` AFTER INSERT ON `account_users` BEGIN INSERT INTO `account_user_counts` (`account_id`, `company_id`, `users`) VALUES (new.`account_id`, new.`company_id`, 1) ON CONFLICT (`account_id`) DO UPDATE SET `users` = `users` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `account_users_counted_when_left` AFTER DELETE ON `account_users` BEGIN UPDATE `account_user_counts` SET `users` = `users` - 1 WHERE `account_id` = old.`account_id`; END;
--> statement-breakpoint
-- Who is attached already.
INSERT INTO `account_users`
SELECT b.`company_id`, b.`account_id`, u.`id`, count(*), u.`email`, u.`created_at`, u.`updated_at`, u.`last_login_at`
FROM `group_bindings` b JOIN `users` u ON u.`id` = b.`principal_id` AND u.`company_id` = b.`company_id`
WHERE b.`principal_type` = 'user' GROUP BY b.`company_id`, b.`account_id`, u.`id`;
--> statement-breakpoint
CREATE TRIGGER `account_users_attached` AFTER INSERT ON `group_bindings` WHEN new.`principal_type` = 'user' BEGIN INSERT INTO `account_users` SELECT new.`company_id`, new.`account_id`, `id`, 1, `email`, `created_at`, `updated_at`, `last_login_at` FROM `users` WHERE `id` = new.`principal_id` AND `company_id` = new.`company_id` ON CONFLICT (`account_id`, `user_id`) DO UPDATE SET `bindings` = `bindings` + 1; END;
--> statement-breakpoint
CREATE TRIGGER `account_users_left` AFTER DELETE ON `group_bindings` WHEN old.`principal_type` = 'user' BEGIN UPDATE `account_users` SET `bindings` = `bindings` - 1 WHERE `account_id` = old.`account_id` AND `user_id` = old.`principal_id`; DELETE FROM `account_users` WHERE `account_id` = old.`account_id` AND `user_id` = old.`principal_id` AND `bindings` = 0; END;
--> statement-breakpoint
CREATE TRIGGER `account_users_follow` AFTER UPDATE OF `email`, `updated_at`, `last_login_at` ON `users` BEGIN UPDATE `account_users` SET `email` = new.`email`, `updated_at` = new.`updated_at`, `last_login_at` = new.`last_login_at` WHERE `user_id` = new.`id`; END;
