CREATE TABLE `data_jobs` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`endpoint_id` text NOT NULL,
	`slug` text NOT NULL,
	`visualization_id` text NOT NULL,
	`format` text NOT NULL,
	`bound_values` text NOT NULL,
	`status` text NOT NULL,
	`attempt` integer NOT NULL,
	`due_at` integer NOT NULL,
	`row_count` integer,
	`bytes` integer,
	`pieces` integer,
	`error` text,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `data_jobs_of_company` ON `data_jobs` (`company_id`,`status`);--> statement-breakpoint
CREATE INDEX `data_jobs_by_due` ON `data_jobs` (`status`,`due_at`);--> statement-breakpoint
CREATE INDEX `data_jobs_by_age` ON `data_jobs` (`created_at`);