CREATE TABLE `sign_in_networks` (
	`company_id` text NOT NULL,
	`user_id` text NOT NULL,
	`network` text NOT NULL,
	`signed_in_at` integer NOT NULL,
	PRIMARY KEY(`user_id`, `network`)
);
--> statement-breakpoint
CREATE INDEX `sign_in_networks_by_age` ON `sign_in_networks` (`signed_in_at`);--> statement-breakpoint
ALTER TABLE `companies` ADD `require_2fa` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `companies` ADD `sso_only` integer DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE `companies` ADD `locale` text DEFAULT 'en' NOT NULL;--> statement-breakpoint
ALTER TABLE `pending_second_factors` ADD `purpose` text DEFAULT 'login' NOT NULL;--> statement-breakpoint
ALTER TABLE `sessions` ADD `ip` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `user_agent` text;--> statement-breakpoint
ALTER TABLE `sessions` ADD `last_used_at` integer;