CREATE TABLE `knowledge_jobs` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`type` text NOT NULL,
	`target_type` text NOT NULL,
	`target_ids` text NOT NULL,
	`status` text NOT NULL,
	`processed_count` integer NOT NULL,
	`total_count` integer NOT NULL,
	`suggestion_count` integer NOT NULL,
	`rejected_count` integer NOT NULL,
	`usage` text NOT NULL,
	`last_error` text,
	`input` text NOT NULL,
	`request_id` text NOT NULL,
	`created_by_user_id` text NOT NULL,
	`leased_until` integer,
	`attempts` integer NOT NULL,
	`ended_at` integer,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `knowledge_jobs_one_at_a_time` ON `knowledge_jobs` (`company_id`,`type`) WHERE status in ('queued', 'running') and type <> 'enrichment';--> statement-breakpoint
CREATE INDEX `knowledge_jobs_by_creation` ON `knowledge_jobs` (`company_id`,`type`,`created_at`,`id`,`status`);--> statement-breakpoint
CREATE INDEX `knowledge_jobs_in_work` ON `knowledge_jobs` (`updated_at`) WHERE status in ('queued', 'running');