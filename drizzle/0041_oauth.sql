CREATE TABLE `oauth_clients` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_clients_of_company` ON `oauth_clients` (`company_id`,`created_at`);--> statement-breakpoint
CREATE TABLE `oauth_devices` (
	`digest` text PRIMARY KEY NOT NULL,
	`user_code_digest` text NOT NULL,
	`client_id` text NOT NULL,
	`scopes` text NOT NULL,
	`resource` text NOT NULL,
	`interval` integer NOT NULL,
	`pollable_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`denied_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_devices_user_code_digest_unique` ON `oauth_devices` (`user_code_digest`);--> statement-breakpoint
CREATE INDEX `oauth_devices_by_expiry` ON `oauth_devices` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_grants` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`user_id` text NOT NULL,
	`client_id` text NOT NULL,
	`client_name` text NOT NULL,
	`client_host` text,
	`scopes` text NOT NULL,
	`resource` text NOT NULL,
	`request_id` text NOT NULL,
	`code_digest` text NOT NULL,
	`code_challenge` text,
	`redirect_uri` text,
	`code_expires_at` integer NOT NULL,
	`code_used_at` integer,
	`begun_at` integer,
	`refresh_digest` text,
	`previous_digest` text,
	`previous_until` integer,
	`last_used_at` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_grants_request_id_unique` ON `oauth_grants` (`request_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `oauth_grants_code_digest_unique` ON `oauth_grants` (`code_digest`);--> statement-breakpoint
CREATE INDEX `oauth_grants_of_user` ON `oauth_grants` (`company_id`,`user_id`,`client_id`);--> statement-breakpoint
CREATE INDEX `oauth_grants_of_client` ON `oauth_grants` (`company_id`,`client_id`);--> statement-breakpoint
CREATE INDEX `oauth_grants_by_expiry` ON `oauth_grants` (`expires_at`);--> statement-breakpoint
CREATE TABLE `oauth_public_clients` (
	`client_id` text PRIMARY KEY NOT NULL,
	`name` text NOT NULL,
	`redirect_uris` text NOT NULL,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `oauth_public_clients_by_expiry` ON `oauth_public_clients` (`expires_at`);