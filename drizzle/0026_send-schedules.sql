CREATE TABLE `schedule_deliveries` (
	`company_id` text NOT NULL,
	`run_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`status` text NOT NULL,
	`problem` text,
	PRIMARY KEY(`run_id`, `kind`, `subject`),
	FOREIGN KEY (`run_id`) REFERENCES `schedule_runs`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `schedule_recipients` (
	`company_id` text NOT NULL,
	`schedule_id` text NOT NULL,
	`kind` text NOT NULL,
	`subject` text NOT NULL,
	`position` integer NOT NULL,
	`unsubscribed_at` integer,
	`last_value` text,
	PRIMARY KEY(`schedule_id`, `kind`, `subject`),
	FOREIGN KEY (`schedule_id`) REFERENCES `schedules`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `schedule_runs` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`schedule_id` text NOT NULL,
	`kind` text NOT NULL,
	`occurrence` integer NOT NULL,
	`status` text NOT NULL,
	`attempt` integer NOT NULL,
	`due_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	FOREIGN KEY (`schedule_id`) REFERENCES `schedules`(`id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE UNIQUE INDEX `schedule_runs_once` ON `schedule_runs` (`schedule_id`,`kind`,`occurrence`);--> statement-breakpoint
CREATE INDEX `schedule_runs_waiting` ON `schedule_runs` (`company_id`,`due_at`,`occurrence`) WHERE status <> 'ended';--> statement-breakpoint
CREATE INDEX `schedule_runs_by_age` ON `schedule_runs` (`created_at`);--> statement-breakpoint
CREATE TABLE `schedules` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`name` text NOT NULL,
	`target_type` text NOT NULL,
	`target_id` text NOT NULL,
	`parameters` text NOT NULL,
	`cron` text NOT NULL,
	`time_zone` text NOT NULL,
	`format` text NOT NULL,
	`condition` text,
	`status` text NOT NULL,
	`next_run_at` integer,
	`failures` integer DEFAULT 0 NOT NULL,
	`last_run` text,
	`api_url` text NOT NULL,
	`version` integer DEFAULT 1 NOT NULL,
	`created_by_user_id` text NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `schedules_by_creation` ON `schedules` (`company_id`,`created_at`,`id`);--> statement-breakpoint
CREATE INDEX `schedules_of_target` ON `schedules` (`company_id`,`target_type`,`target_id`);--> statement-breakpoint
CREATE INDEX `schedules_due` ON `schedules` (`next_run_at`,`company_id`) WHERE next_run_at is not null;--> statement-breakpoint
ALTER TABLE `mail_requests` ADD `about` text;--> statement-breakpoint
CREATE TRIGGER `schedules_of_dashboard` AFTER DELETE ON `dashboards` BEGIN DELETE FROM `schedules` WHERE company_id = OLD.company_id AND target_type = 'dashboard' AND target_id = OLD.id; END;--> statement-breakpoint
CREATE TRIGGER `schedules_of_visualization` AFTER DELETE ON `visualizations` BEGIN DELETE FROM `schedules` WHERE company_id = OLD.company_id AND target_type = 'visualization' AND target_id = OLD.id; END;
