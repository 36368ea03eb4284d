/** A trigger that stands on one line, in the spelling that D1 knows. */
const WHOLE_TRIGGER = /^\s*CREATE TRIGGER [^\n]* BEGIN [^\n]*; END;\s*(--> statement-breakpoint)?$/gm;

/**
 * Whether D1 would cut this SQL within a trigger. Its `/query`, which `wrangler d1 migrations apply --remote` sends each
 * migration to, tells where statements end on Cloudflare's side, and takes the `;` within a body for the end unless the trigger
 * stands on one line in capital letters (cloudflare/workers-sdk 4998, 14991, 15314, 15690). Locally all is well.
 */
export function cutsTrigger(sql: string): boolean {
  const triggers = sql.match(/\bCREATE\s+(TEMP\w*\s+)?TRIGGER\b/gi)?.length ?? 0;
  return triggers > 0 && (sql.includes('\r') || triggers !== (sql.match(WHOLE_TRIGGER)?.length ?? 0));
}
