CREATE TABLE `knowledge_suggestions` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`target_type` text NOT NULL,
	`target_id` text,
	`target_version` integer,
	`target_name` text NOT NULL,
	`concept_id` text,
	`concept_name` text,
	`payload` text NOT NULL,
	`explanation` text NOT NULL,
	`evidence` text NOT NULL,
	`confidence` real,
	`model` text NOT NULL,
	`prompt_version` text NOT NULL,
	`status` text NOT NULL,
	`request_id` text NOT NULL,
	`job_id` text,
	`candidate_key` text,
	`review_note` text,
	`reviewed_by_user_id` text,
	`reviewed_at` integer,
	`resource_id` text,
	`created_by_user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `knowledge_suggestions_by_creation` ON `knowledge_suggestions` (`company_id`,`status`,`created_at`,`id`,`target_type`,`job_id`);--> statement-breakpoint
CREATE UNIQUE INDEX `knowledge_suggestions_of_job` ON `knowledge_suggestions` (`job_id`,`candidate_key`);