CREATE TABLE `company_ends` (
	`id` text PRIMARY KEY NOT NULL,
	`requested_at` integer NOT NULL,
	`completed_at` integer,
	`stores` text NOT NULL,
	`due_at` integer
);
--> statement-breakpoint
CREATE INDEX `company_ends_due` ON `company_ends` (`due_at`) WHERE due_at is not null;--> statement-breakpoint
ALTER TABLE `companies` ADD `end_requested_at` integer;--> statement-breakpoint
ALTER TABLE `companies` ADD `deletes_at` integer;--> statement-breakpoint
CREATE INDEX `companies_to_end` ON `companies` (`deletes_at`) WHERE deletes_at is not null;