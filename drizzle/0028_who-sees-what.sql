ALTER TABLE `visualizations` ADD `embedded_until` integer;--> statement-breakpoint
UPDATE `visualizations` SET `embedded_until` = (unixepoch() + 31536000) * 1000;--> statement-breakpoint
CREATE INDEX `share_grants_of_target` ON `share_grants` (`company_id`,`target_type`,`target_id`);
