CREATE TABLE `knowledge_asked_questions` (
	`id` text PRIMARY KEY NOT NULL,
	`company_id` text NOT NULL,
	`number` integer NOT NULL,
	`question` text NOT NULL,
	`asked_by` text NOT NULL,
	`asked_at` integer NOT NULL,
	`kind` text NOT NULL,
	`query` text,
	`explanation` text NOT NULL,
	`verified_question_id` text,
	`accepted_as` text,
	`model` text,
	`usage` text NOT NULL
);
--> statement-breakpoint
CREATE INDEX `knowledge_asked_questions_number` ON `knowledge_asked_questions` (`company_id`,`number`);--> statement-breakpoint
CREATE INDEX `knowledge_asked_questions_by_time` ON `knowledge_asked_questions` (`company_id`,`asked_at`,`id`,`kind`,`asked_by`);--> statement-breakpoint
CREATE INDEX `knowledge_asked_questions_by_age` ON `knowledge_asked_questions` (`asked_at`);