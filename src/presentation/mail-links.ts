/** The data for the page of a mailed link, about the person the link is for, in the JSON that is sent. */
export interface MailLinkView {
  email: string;
  name: string;
  company: { name: string; slug: string };
  /** Whether the company allows this person to sign in only by its identity provider. */
  sso_only: boolean;
  /** Whether the company requires a second factor. */
  require_2fa: boolean;
  /** The time until which an invitation can be accepted, ISO 8601; null for other links. */
  expires_at: string | null;
}
