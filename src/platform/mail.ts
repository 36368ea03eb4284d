/** A mail as people get it: always both in plain text and in HTML. */
export interface Mail {
  to: string;
  subject: string;
  text: string;
  html: string;
}

/** The one way mail leaves the system. */
export interface Mailer {
  send(mail: Mail): Promise<void>;
}

/** Sends through Cloudflare's `send_email` binding. `from` is an address, or `Name <address>`. */
export function mailer(binding: SendEmail, from: string): Mailer {
  const named = /^(.*)<(.+)>$/.exec(from);
  const sender = named ? { name: named[1]?.trim() ?? '', email: named[2] ?? '' } : { name: '', email: from };
  return {
    async send(mail) {
      await binding.send({ from: sender, ...mail });
    },
  };
}
