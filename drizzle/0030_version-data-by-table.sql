ALTER TABLE `managed_databases` ADD `changed_tables` text DEFAULT '{"*":0}' NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `open_changes` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `managed_databases` ADD `noted_version` integer DEFAULT 0 NOT NULL;