/** The data for the page of a mailed link, about whoever the link is for. JSON, as it travels. */
export interface MailLinkView {
  email: string;
  name: string;
  company: { name: string; slug: string };
  /** The company lets this person sign in by its identity provider alone. */
  sso_only: boolean;
  /** The company asks everybody for a second factor. */
  require_2fa: boolean;
  /** The time until which an invitation can be accepted, ISO 8601; null for other links. */
  expires_at: string | null;
}
