CREATE TABLE `audit_events` (
	`id` text PRIMARY KEY NOT NULL,
	`correlation_id` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`company_id` text,
	`principal_type` text NOT NULL,
	`principal_id` text,
	`credential` text,
	`method` text NOT NULL,
	`route` text,
	`action` text,
	`resource_id` text,
	`status` integer NOT NULL,
	`ip` text,
	`duration_ms` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `audit_events_by_time` ON `audit_events` (`company_id`,`occurred_at`,`id`);--> statement-breakpoint
CREATE INDEX `audit_events_of_principal` ON `audit_events` (`company_id`,`principal_id`,`occurred_at`,`id`);--> statement-breakpoint
CREATE INDEX `audit_events_of_action` ON `audit_events` (`company_id`,`action`,`occurred_at`,`id`);--> statement-breakpoint
CREATE INDEX `audit_events_of_correlation` ON `audit_events` (`correlation_id`,`company_id`,`occurred_at`,`id`);--> statement-breakpoint
CREATE TABLE `dead_letters` (
	`id` text PRIMARY KEY NOT NULL,
	`queue` text NOT NULL,
	`body` text NOT NULL,
	`attempts` integer NOT NULL,
	`died_at` integer NOT NULL,
	`replay_requested_at` integer,
	`replayed_at` integer
);
--> statement-breakpoint
CREATE INDEX `dead_letters_to_replay` ON `dead_letters` (`replay_requested_at`) WHERE replay_requested_at is not null and replayed_at is null;--> statement-breakpoint
CREATE INDEX `dead_letters_by_death` ON `dead_letters` (`died_at`);