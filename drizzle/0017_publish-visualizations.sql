CREATE TABLE `viz_api_endpoints` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`description` text NOT NULL,
	`visualization_id` text NOT NULL,
	`cache_seconds` integer NOT NULL,
	`status` text NOT NULL,
	`version` integer DEFAULT 1 NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL,
	FOREIGN KEY (`visualization_id`) REFERENCES `visualizations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE UNIQUE INDEX `viz_api_endpoints_slug` ON `viz_api_endpoints` (`company_id`,`slug`);--> statement-breakpoint
CREATE INDEX `viz_api_endpoints_by_creation` ON `viz_api_endpoints` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `viz_api_endpoints_of_visualization` ON `viz_api_endpoints` (`visualization_id`);