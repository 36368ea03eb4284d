CREATE TABLE `dashboard_visualizations` (
	`company_id` text NOT NULL,
	`dashboard_id` text NOT NULL,
	`visualization_id` text NOT NULL,
	PRIMARY KEY(`dashboard_id`, `visualization_id`),
	FOREIGN KEY (`visualization_id`) REFERENCES `visualizations`(`id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `dashboard_visualizations_of_visualization` ON `dashboard_visualizations` (`visualization_id`);--> statement-breakpoint
CREATE TABLE `dashboards` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`description` text NOT NULL,
	`cache_seconds` integer NOT NULL,
	`layout` text NOT NULL,
	`filters` text NOT NULL,
	`version` integer DEFAULT 1 NOT NULL,
	`created_by_user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `dashboards_slug` ON `dashboards` (`company_id`,`slug`);--> statement-breakpoint
CREATE INDEX `dashboards_by_creation` ON `dashboards` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE TABLE `visualizations` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`slug` text NOT NULL,
	`description` text NOT NULL,
	`sql` text NOT NULL,
	`chart` text NOT NULL,
	`parameters` text NOT NULL,
	`version` integer DEFAULT 1 NOT NULL,
	`created_by_user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `visualizations_slug` ON `visualizations` (`company_id`,`slug`);--> statement-breakpoint
CREATE INDEX `visualizations_by_creation` ON `visualizations` (`company_id`,`created_at`,`id`);