CREATE TABLE `invitations` (
	`user_id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`digest` text,
	`inviter` text NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `invitations_digest_unique` ON `invitations` (`digest`);--> statement-breakpoint
CREATE INDEX `invitations_by_expiry` ON `invitations` (`expires_at`);--> statement-breakpoint
CREATE TABLE `mail_requests` (
	`id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`company_id` text,
	`email` text NOT NULL,
	`counted_as` text NOT NULL,
	`requested_at` integer NOT NULL,
	`due_at` integer,
	`attempts` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `mail_requests_counted` ON `mail_requests` (`counted_as`,`requested_at`);--> statement-breakpoint
CREATE INDEX `mail_requests_due` ON `mail_requests` (`due_at`);--> statement-breakpoint
CREATE INDEX `mail_requests_by_age` ON `mail_requests` (`requested_at`);--> statement-breakpoint
CREATE TABLE `password_resets` (
	`digest` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`user_id` text NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer
);
--> statement-breakpoint
CREATE INDEX `password_resets_of_user` ON `password_resets` (`user_id`,`used_at`);--> statement-breakpoint
CREATE INDEX `password_resets_by_expiry` ON `password_resets` (`expires_at`);--> statement-breakpoint
CREATE TABLE `backup_codes` (
	`company_id` text NOT NULL,
	`factor_id` text NOT NULL,
	`digest` text NOT NULL,
	PRIMARY KEY(`factor_id`, `digest`)
);
--> statement-breakpoint
CREATE TABLE `passwordless_codes` (
	`company_id` text NOT NULL,
	`email` text NOT NULL,
	`digest` text NOT NULL,
	`tries` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`used_at` integer,
	PRIMARY KEY(`company_id`, `email`)
);
--> statement-breakpoint
CREATE INDEX `passwordless_codes_by_expiry` ON `passwordless_codes` (`expires_at`);--> statement-breakpoint
CREATE TABLE `pending_second_factors` (
	`digest` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`user_id` text NOT NULL,
	`session_epoch` integer NOT NULL,
	`tries` integer NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer
);
--> statement-breakpoint
CREATE INDEX `pending_second_factors_by_expiry` ON `pending_second_factors` (`expires_at`);--> statement-breakpoint
CREATE TABLE `second_factors` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`user_id` text NOT NULL,
	`secret` text NOT NULL,
	`confirmed_at` integer,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `second_factors_user_id_unique` ON `second_factors` (`user_id`);--> statement-breakpoint
CREATE TABLE `used_totp_steps` (
	`company_id` text NOT NULL,
	`factor_id` text NOT NULL,
	`step` integer NOT NULL,
	PRIMARY KEY(`factor_id`, `step`)
);
--> statement-breakpoint
CREATE INDEX `used_totp_steps_by_step` ON `used_totp_steps` (`step`);--> statement-breakpoint
ALTER TABLE `users` ADD `session_epoch` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
CREATE INDEX `sessions_by_expiry` ON `sessions` (`expires_at`);