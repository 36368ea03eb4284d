CREATE TABLE `embed_revocations` (
	`company_id` text NOT NULL,
	`subject` text NOT NULL,
	`revoked_at` integer NOT NULL,
	PRIMARY KEY(`company_id`, `subject`)
);
--> statement-breakpoint
CREATE INDEX `embed_revocations_by_time` ON `embed_revocations` (`revoked_at`);