CREATE TABLE `knowledge_business_domains` (
	`company_id` text PRIMARY KEY NOT NULL,
	`domains` text NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE `knowledge_resources` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`resource_type` text NOT NULL,
	`unique_key` text NOT NULL,
	`facet` text NOT NULL,
	`subject_id` text,
	`object_id` text,
	`status` text NOT NULL,
	`content` text NOT NULL,
	`search_text` text NOT NULL,
	`validation_errors` text NOT NULL,
	`version` integer NOT NULL,
	`suggestion_id` text,
	`created_by_user_id` text NOT NULL,
	`updated_by_user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `knowledge_resources_living_key` ON `knowledge_resources` (`company_id`,`resource_type`,`unique_key`) WHERE status <> 'archived';--> statement-breakpoint
CREATE INDEX `knowledge_resources_by_creation` ON `knowledge_resources` (`company_id`,`resource_type`,`created_at`,`id`,`status`,`facet`);--> statement-breakpoint
CREATE INDEX `knowledge_resources_by_subject` ON `knowledge_resources` (`company_id`,`subject_id`);--> statement-breakpoint
CREATE INDEX `knowledge_resources_by_object` ON `knowledge_resources` (`company_id`,`object_id`);--> statement-breakpoint
CREATE TABLE `knowledge_versions` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`resource_id` text NOT NULL,
	`version` integer NOT NULL,
	`change` text NOT NULL,
	`status` text NOT NULL,
	`content` text NOT NULL,
	`changed_by_user_id` text NOT NULL,
	`suggestion_id` text,
	`changed_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `knowledge_versions_of_resource` ON `knowledge_versions` (`company_id`,`resource_id`,`version`);