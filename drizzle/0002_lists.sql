CREATE TABLE `user_counts` (
	`company_id` text PRIMARY KEY NOT NULL,
	`living` integer NOT NULL,
	`total` integer NOT NULL
);
--> statement-breakpoint
DROP INDEX `service_accounts_living_of_account`;--> statement-breakpoint
DROP INDEX `service_accounts_by_creation`;--> statement-breakpoint
CREATE INDEX `service_accounts_by_update` ON `service_accounts` (`company_id`,`updated_at`,`id`,`deleted_at`,`is_active`);--> statement-breakpoint
CREATE INDEX `service_accounts_by_name` ON `service_accounts` (`company_id`,`name`,`id`,`deleted_at`,`is_active`);--> statement-breakpoint
CREATE INDEX `service_accounts_by_use` ON `service_accounts` (`company_id`,`last_used_at`,`id`,`deleted_at`,`is_active`);--> statement-breakpoint
CREATE INDEX `service_accounts_of_account` ON `service_accounts` (`company_id`,`account_id`,`created_at`,`id`,`deleted_at`,`is_active`);--> statement-breakpoint
CREATE INDEX `service_accounts_by_creation` ON `service_accounts` (`company_id`,`created_at`,`id`,`deleted_at`,`is_active`);--> statement-breakpoint
DROP INDEX `group_bindings_of_account`;--> statement-breakpoint
CREATE INDEX `group_bindings_by_creation` ON `group_bindings` (`company_id`,`group_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `group_bindings_of_account_by_creation` ON `group_bindings` (`company_id`,`group_id`,`account_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `group_bindings_of_account` ON `group_bindings` (`company_id`,`account_id`,`principal_type`,`principal_id`);--> statement-breakpoint
CREATE INDEX `accounts_by_update` ON `accounts` (`company_id`,`updated_at`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `accounts_by_name` ON `accounts` (`company_id`,`name`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `groups_by_update` ON `groups` (`company_id`,`updated_at`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `groups_by_name` ON `groups` (`company_id`,`name`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `api_keys_by_update` ON `api_keys` (`service_account_id`,`updated_at`,`id`);--> statement-breakpoint
CREATE INDEX `api_keys_by_use` ON `api_keys` (`service_account_id`,`last_used_at`,`id`);--> statement-breakpoint
CREATE INDEX `users_by_update` ON `users` (`company_id`,`updated_at`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `users_by_email` ON `users` (`company_id`,`email`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `users_by_last_login` ON `users` (`company_id`,`last_login_at`,`id`,`deleted_at`);