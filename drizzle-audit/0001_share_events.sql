CREATE TABLE `share_events` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`type` text NOT NULL,
	`occurred_at` integer NOT NULL,
	`actor_kind` text NOT NULL,
	`actor_id` text,
	`actor_email` text,
	`target_type` text,
	`target_id` text,
	`share_id` text,
	`share_context_id` text,
	`ip_country` text,
	`user_agent` text,
	`origin` text,
	`correlation_id` text NOT NULL,
	`viewer` text NOT NULL,
	`details` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `share_events_by_time` ON `share_events` (`company_id`,`occurred_at`,`id`);--> statement-breakpoint
CREATE INDEX `share_events_of_type` ON `share_events` (`company_id`,`type`,`occurred_at`,`id`);--> statement-breakpoint
CREATE INDEX `share_events_of_share` ON `share_events` (`company_id`,`share_id`,`occurred_at`,`id`);--> statement-breakpoint
CREATE INDEX `share_events_of_context` ON `share_events` (`company_id`,`share_context_id`,`occurred_at`,`id`);--> statement-breakpoint
CREATE TABLE `share_views` (
	`share_id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`view_count` integer NOT NULL,
	`last_accessed_at` integer NOT NULL
);
