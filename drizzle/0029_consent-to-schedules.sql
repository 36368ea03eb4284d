CREATE TABLE `mail_consents` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`email` text NOT NULL,
	`asked_at` integer,
	`agreed_at` integer,
	`ended_at` integer
);
--> statement-breakpoint
CREATE UNIQUE INDEX `mail_consents_of_address` ON `mail_consents` (`company_id`,`email`);--> statement-breakpoint
CREATE TABLE `scheduled_mails` (
	`company_id` text NOT NULL,
	`run_id` text NOT NULL,
	`email` text NOT NULL,
	`sent_at` integer NOT NULL,
	PRIMARY KEY(`run_id`, `email`)
);
--> statement-breakpoint
CREATE INDEX `scheduled_mails_counted` ON `scheduled_mails` (`email`,`sent_at`);--> statement-breakpoint
CREATE INDEX `scheduled_mails_by_age` ON `scheduled_mails` (`sent_at`);--> statement-breakpoint
ALTER TABLE `knowledge_jobs` ADD `concepts_not_sent` integer DEFAULT 0 NOT NULL;