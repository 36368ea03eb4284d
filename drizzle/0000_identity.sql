CREATE TABLE `accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`is_default` integer DEFAULT false NOT NULL,
	`is_active` integer DEFAULT true NOT NULL,
	`metadata` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_living_name` ON `accounts` (`company_id`,`name`) WHERE deleted_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `accounts_one_default` ON `accounts` (`company_id`) WHERE is_default = 1 and deleted_at is null;--> statement-breakpoint
CREATE INDEX `accounts_by_creation` ON `accounts` (`company_id`,`created_at`,`id`,`deleted_at`);--> statement-breakpoint
CREATE TABLE `companies` (
	`id` text PRIMARY KEY NOT NULL,
	`slug` text NOT NULL,
	`name` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `companies_slug` ON `companies` (`slug`);--> statement-breakpoint
CREATE TABLE `group_bindings` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`group_id` text NOT NULL,
	`principal_type` text NOT NULL,
	`principal_id` text NOT NULL,
	`account_id` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `group_bindings_once` ON `group_bindings` (`group_id`,`principal_type`,`principal_id`,`account_id`);--> statement-breakpoint
CREATE INDEX `group_bindings_of_principal` ON `group_bindings` (`principal_id`,`account_id`,`group_id`);--> statement-breakpoint
CREATE INDEX `group_bindings_of_account` ON `group_bindings` (`account_id`,`principal_type`);--> statement-breakpoint
CREATE TABLE `group_permissions` (
	`company_id` text NOT NULL,
	`group_id` text NOT NULL,
	`permission_id` text NOT NULL,
	PRIMARY KEY(`group_id`, `permission_id`)
);
--> statement-breakpoint
CREATE INDEX `group_permissions_of_permission` ON `group_permissions` (`permission_id`);--> statement-breakpoint
CREATE TABLE `group_policies` (
	`company_id` text NOT NULL,
	`group_id` text NOT NULL,
	`policy_id` text NOT NULL,
	PRIMARY KEY(`group_id`, `policy_id`)
);
--> statement-breakpoint
CREATE INDEX `group_policies_of_policy` ON `group_policies` (`policy_id`,`company_id`);--> statement-breakpoint
CREATE TABLE `groups` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`is_global` integer DEFAULT false NOT NULL,
	`roles` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `groups_living_name` ON `groups` (`company_id`,`name`) WHERE deleted_at is null;--> statement-breakpoint
CREATE UNIQUE INDEX `groups_living_slug` ON `groups` (`company_id`,`slug`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `groups_by_creation` ON `groups` (`company_id`,`created_at`,`id`,`deleted_at`);--> statement-breakpoint
CREATE TABLE `permissions` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text NOT NULL,
	`target` text NOT NULL,
	`actions` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `permissions_by_creation` ON `permissions` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `managed_databases` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`status` text NOT NULL,
	`lease_token` text,
	`lease_until` integer,
	`neon_project_id` text,
	`owner_connection` text,
	`readonly_connection` text,
	`migrations_version` integer DEFAULT 0 NOT NULL,
	`sweep_at` integer,
	`sweep_marks` integer DEFAULT 0 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `managed_databases_company_id_unique` ON `managed_databases` (`company_id`);--> statement-breakpoint
CREATE INDEX `managed_databases_sweep` ON `managed_databases` (`sweep_at`);--> statement-breakpoint
CREATE TABLE `policies` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`document` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `policies_name` ON `policies` (`company_id`,`name`);--> statement-breakpoint
CREATE INDEX `policies_by_creation` ON `policies` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `api_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`service_account_id` text NOT NULL,
	`access_key` text NOT NULL,
	`salt` text NOT NULL,
	`derivation_version` integer NOT NULL,
	`secret_digest` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`expires_at` integer NOT NULL,
	`is_active` integer DEFAULT true NOT NULL,
	`last_used_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `api_keys_access_key` ON `api_keys` (`access_key`);--> statement-breakpoint
CREATE INDEX `api_keys_of_service_account` ON `api_keys` (`service_account_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `service_accounts` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`account_id` text NOT NULL,
	`name` text NOT NULL,
	`description` text DEFAULT '' NOT NULL,
	`is_active` integer DEFAULT true NOT NULL,
	`metadata` text NOT NULL,
	`last_used_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE INDEX `service_accounts_by_creation` ON `service_accounts` (`company_id`,`created_at`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `service_accounts_living_of_account` ON `service_accounts` (`account_id`) WHERE deleted_at is null;--> statement-breakpoint
CREATE TABLE `sessions` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`user_id` text NOT NULL,
	`refresh_digest` text NOT NULL,
	`previous_digest` text,
	`previous_until` integer,
	`created_at` integer NOT NULL,
	`expires_at` integer NOT NULL,
	`ended_at` integer
);
--> statement-breakpoint
CREATE INDEX `sessions_of_user` ON `sessions` (`user_id`,`ended_at`);--> statement-breakpoint
CREATE TABLE `users` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`email` text NOT NULL,
	`name` text NOT NULL,
	`password_hash` text,
	`is_owner` integer DEFAULT false NOT NULL,
	`is_active` integer NOT NULL,
	`is_verified` integer DEFAULT false NOT NULL,
	`mfa_enabled` integer DEFAULT false NOT NULL,
	`activated_at` integer,
	`teams` text NOT NULL,
	`metadata` text NOT NULL,
	`last_login_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	`deleted_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `users_living_email` ON `users` (`company_id`,`email`) WHERE deleted_at is null;--> statement-breakpoint
CREATE INDEX `users_by_creation` ON `users` (`company_id`,`created_at`,`id`,`deleted_at`);--> statement-breakpoint
CREATE INDEX `users_living_of_email` ON `users` (`email`) WHERE deleted_at is null;