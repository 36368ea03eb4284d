CREATE TABLE `spent_social_tokens` (
	`digest` text PRIMARY KEY NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `spent_social_tokens_by_expiry` ON `spent_social_tokens` (`expires_at`);--> statement-breakpoint
CREATE TABLE `user_identities` (
	`user_id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`issuer` text NOT NULL,
	`subject` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
ALTER TABLE `mail_requests` ADD `notice` text;--> statement-breakpoint
ALTER TABLE `sso_codes` ADD `exchange_digest` text;--> statement-breakpoint
ALTER TABLE `sso_logins` ADD `exchange_digest` text;