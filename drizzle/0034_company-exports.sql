CREATE TABLE `company_exports` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`for_operator` integer NOT NULL,
	`status` text NOT NULL,
	`turn` integer NOT NULL,
	`tries` integer NOT NULL,
	`checkpoint` text,
	`due_at` integer NOT NULL,
	`bytes` integer,
	`error` text,
	`expires_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `company_exports_one_at_a_time` ON `company_exports` (`company_id`) WHERE status in ('queued', 'running');--> statement-breakpoint
CREATE INDEX `company_exports_by_due` ON `company_exports` (`status`,`due_at`);--> statement-breakpoint
CREATE INDEX `company_exports_by_expiry` ON `company_exports` (`expires_at`);