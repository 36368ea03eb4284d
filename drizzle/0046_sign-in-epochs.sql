ALTER TABLE `passwordless_codes` ADD `session_epoch` integer;--> statement-breakpoint
ALTER TABLE `sso_codes` ADD `session_epoch` integer DEFAULT 0 NOT NULL;