CREATE TABLE `embed_signing_keys` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`secret` text NOT NULL,
	`created_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `embed_signing_keys_by_creation` ON `embed_signing_keys` (`company_id`,`created_at`,`id`);