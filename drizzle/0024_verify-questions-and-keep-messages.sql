CREATE TABLE `knowledge_verified_questions` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`question` text NOT NULL,
	`question_key` text NOT NULL,
	`query` text NOT NULL,
	`status` text NOT NULL,
	`stale_reason` text,
	`version` integer NOT NULL,
	`verified_by` text NOT NULL,
	`verified_at` integer NOT NULL,
	`last_checked_at` integer NOT NULL,
	`created_at` integer NOT NULL,
	`updated_at` integer NOT NULL
);
--> statement-breakpoint
CREATE UNIQUE INDEX `knowledge_verified_questions_living_key` ON `knowledge_verified_questions` (`company_id`,`question_key`) WHERE status <> 'archived';--> statement-breakpoint
CREATE INDEX `knowledge_verified_questions_by_creation` ON `knowledge_verified_questions` (`company_id`,`created_at`,`id`,`status`);--> statement-breakpoint
CREATE TABLE `outbox` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`message` text NOT NULL,
	`due_at` integer NOT NULL
);
--> statement-breakpoint
CREATE INDEX `outbox_by_due` ON `outbox` (`due_at`);