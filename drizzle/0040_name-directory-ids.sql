ALTER TABLE `groups` ADD `external_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `groups_living_external_id` ON `groups` (`company_id`,`external_id`) WHERE external_id is not null and deleted_at is null;--> statement-breakpoint
ALTER TABLE `users` ADD `external_id` text;--> statement-breakpoint
CREATE UNIQUE INDEX `users_living_external_id` ON `users` (`company_id`,`external_id`) WHERE external_id is not null and deleted_at is null;--> statement-breakpoint
CREATE INDEX `group_bindings_of_member` ON `group_bindings` (`company_id`,`principal_id`,`principal_type`,`group_id`);