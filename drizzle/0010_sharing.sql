CREATE TABLE `embed_keys` (
	`company_id` text PRIMARY KEY NOT NULL,
	`rotations` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `outsiders` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`email` text NOT NULL,
	`status` text NOT NULL,
	`created_at` integer NOT NULL,
	`last_login_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `outsiders_email` ON `outsiders` (`company_id`,`email`);--> statement-breakpoint
CREATE INDEX `outsiders_by_creation` ON `outsiders` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `share_contexts` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`description` text NOT NULL,
	`version` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `share_contexts_slug` ON `share_contexts` (`company_id`,`slug`);--> statement-breakpoint
CREATE INDEX `share_contexts_by_creation` ON `share_contexts` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `share_grants` (
	`company_id` text NOT NULL,
	`context_id` text NOT NULL,
	`target_type` text NOT NULL,
	`target_id` text NOT NULL,
	`position` integer NOT NULL,
	`filter_policies` text NOT NULL,
	PRIMARY KEY(`context_id`, `target_type`, `target_id`)
);
--> statement-breakpoint
CREATE TABLE `share_members` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`context_id` text NOT NULL,
	`member_type` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `share_members_once` ON `share_members` (`context_id`,`member_type`,`subject`);--> statement-breakpoint
CREATE INDEX `share_members_of_subject` ON `share_members` (`company_id`,`member_type`,`subject`,`context_id`);--> statement-breakpoint
CREATE INDEX `share_members_by_creation` ON `share_members` (`company_id`,`context_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `dashboard_shares` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`dashboard_id` text NOT NULL,
	`name` text NOT NULL,
	`share_type` text NOT NULL,
	`share_context_id` text,
	`embed_options` text NOT NULL,
	`filter_policies` text NOT NULL,
	`token_digest` text NOT NULL,
	`created_by_user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`expires_at` integer,
	`revoked_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `dashboard_shares_token` ON `dashboard_shares` (`token_digest`);--> statement-breakpoint
CREATE INDEX `dashboard_shares_by_creation` ON `dashboard_shares` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `dashboard_shares_of_dashboard` ON `dashboard_shares` (`company_id`,`dashboard_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `dashboard_shares_of_context` ON `dashboard_shares` (`share_context_id`,`dashboard_id`);--> statement-breakpoint

CREATE TABLE `__new_passwordless_codes` (
	`company_id` text NOT NULL,
	`purpose` text NOT NULL,
	`email` text NOT NULL,
	`digest` text NOT NULL,
	`tries` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	PRIMARY KEY(`company_id`, `purpose`, `email`)
);
--> statement-breakpoint
INSERT INTO `__new_passwordless_codes`("company_id", "purpose", "email", "digest", "tries", "expires_at", "used_at") SELECT "company_id", 'sign_in', "email", "digest", "tries", "expires_at", "used_at" FROM `passwordless_codes`;--> statement-breakpoint
DROP TABLE `passwordless_codes`;--> statement-breakpoint
ALTER TABLE `__new_passwordless_codes` RENAME TO `passwordless_codes`;--> statement-breakpoint

CREATE INDEX `passwordless_codes_by_expiry` ON `passwordless_codes` (`expires_at`);