CREATE TABLE `sso_assertions` (
	`company_id` text NOT NULL,
	`id_digest` text NOT NULL,
	`expires_at` integer NOT NULL,
	PRIMARY KEY(`company_id`, `id_digest`)
);
--> statement-breakpoint
CREATE INDEX `sso_assertions_by_expiry` ON `sso_assertions` (`expires_at`);--> statement-breakpoint
CREATE TABLE `sso_codes` (
	`code_digest` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`user_id` text NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sso_codes_by_expiry` ON `sso_codes` (`expires_at`);--> statement-breakpoint
CREATE INDEX `sso_codes_of_company` ON `sso_codes` (`company_id`);--> statement-breakpoint
CREATE TABLE `sso_configurations` (
	`company_id` text PRIMARY KEY NOT NULL,
	`provider` text NOT NULL,
	`client_secret` text,
	`redirect_uris` text NOT NULL,
	`jit_provisioning` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `sso_logins` (
	`state_digest` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`redirect_uri` text NOT NULL,
	`expectation` text NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `sso_logins_by_expiry` ON `sso_logins` (`expires_at`);--> statement-breakpoint
CREATE INDEX `sso_logins_of_company` ON `sso_logins` (`company_id`);--> statement-breakpoint
CREATE TABLE `social_configurations` (
	`company_id` text PRIMARY KEY NOT NULL,
	`providers` text NOT NULL,
	`updated_at` integer NOT NULL
);
