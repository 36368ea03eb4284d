ALTER TABLE `managed_databases` ADD `data_version` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `data_changes` integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `data_changes_until` integer DEFAULT 0 NOT NULL;