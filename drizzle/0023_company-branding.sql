ALTER TABLE `companies` ADD `branding` text DEFAULT '{}' NOT NULL;--> statement-breakpoint
ALTER TABLE `companies` ADD `logo` text;