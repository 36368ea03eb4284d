CREATE TABLE `usage_days` (
	`company_id` text NOT NULL,
	`day` integer NOT NULL,
	`mails` integer DEFAULT 0 NOT NULL,
	`model_calls` integer DEFAULT 0 NOT NULL,
	`executions` integer DEFAULT 0 NOT NULL,
	PRIMARY KEY(`company_id`, `day`)
);
--> statement-breakpoint
ALTER TABLE `companies` ADD `quotas` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `tables` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `rows` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `table_bytes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `file_bytes` integer DEFAULT 0 NOT NULL;