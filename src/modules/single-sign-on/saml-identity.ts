import type { SamlSettings } from '../../db/schema/single-sign-on.ts';
import { normalizeClaimedEmail } from '../users/service.ts';
import { SignInRefusal } from './failures.ts';
import type { Identity } from './protocol.ts';
import type { VerifiedAssertion } from './saml-assertion.ts';

const CLAIMS_PREFIX = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/';
const FORMER_CLAIMS_PREFIX = 'http://schemas.xmlsoap.org/claims/';
const LDAP_PREFIX = 'urn:oid:';
const FORMER_LDAP_PREFIX = 'urn:mace:dir:attribute-def:';

/** The attribute names, in lower case, under which providers send the email address; providers write them in any case. */
const EMAIL_ATTRIBUTES = [
  ...['mail', 'email', 'emailaddress', 'e-mail', 'email_address', 'user.email', 'user.mail', 'user.emailaddress'],
  ...[
    `${CLAIMS_PREFIX}emailaddress`,
    `${CLAIMS_PREFIX}email`,
    `${FORMER_CLAIMS_PREFIX}emailaddress`,
    `${FORMER_CLAIMS_PREFIX}email`,
  ],
  ...[`${LDAP_PREFIX}0.9.2342.19200300.100.1.3`, `${LDAP_PREFIX}1.2.840.113549.1.9.1`],
  ...[`${FORMER_LDAP_PREFIX}mail`, `${FORMER_LDAP_PREFIX}email`, `${FORMER_LDAP_PREFIX}emailaddress`],
];

const NAME_ATTRIBUTES = [
  ...['displayname', 'name', 'fullname', 'cn', 'user.displayname', 'user.name', 'user.fullname'],
  ...['http://schemas.microsoft.com/identity/claims/displayname', `${CLAIMS_PREFIX}displayname`],
  ...[`${FORMER_CLAIMS_PREFIX}displayname`, `${FORMER_CLAIMS_PREFIX}commonname`],
  ...[`${LDAP_PREFIX}2.16.840.1.113730.3.1.241`, `${LDAP_PREFIX}2.5.4.3`],
  ...[`${FORMER_LDAP_PREFIX}displayname`, `${FORMER_LDAP_PREFIX}cn`],
];

const GIVEN_NAME_ATTRIBUTES = [
  ...['givenname', 'given_name', 'firstname', 'first_name', 'user.firstname', 'user.givenname'],
  ...[
    `${CLAIMS_PREFIX}givenname`,
    `${FORMER_CLAIMS_PREFIX}givenname`,
    `${LDAP_PREFIX}2.5.4.42`,
    `${FORMER_LDAP_PREFIX}givenname`,
  ],
];

const SURNAME_ATTRIBUTES = [
  ...['surname', 'sn', 'familyname', 'family_name', 'lastname', 'last_name', 'user.lastname', 'user.surname'],
  ...[`${CLAIMS_PREFIX}surname`, `${FORMER_CLAIMS_PREFIX}surname`, `${LDAP_PREFIX}2.5.4.4`, `${FORMER_LDAP_PREFIX}sn`],
];

/**
 * Reads the person from an assertion. The email address is in the configured attribute; without one, in an attribute of a usual
 * name, or else it is the NameID. @throws SignInRefusal where attributes hold two different addresses
 */
export function toIdentity(
  { nameId, attributes }: Pick<VerifiedAssertion, 'nameId' | 'attributes'>,
  configuredAttributes: SamlSettings['attributes'] = {},
): Identity {
  const findValues = (names: readonly string[]) =>
    names.flatMap((name) => attributes.get(name.toLowerCase()) ?? []).filter((value) => value !== '');
  const emails = findValues(configuredAttributes.email === undefined ? EMAIL_ATTRIBUTES : [configuredAttributes.email]);
  const addresses = new Set(emails.flatMap((value) => normalizeClaimedEmail(value) ?? []));
  if (addresses.size > 1) {
    throw new SignInRefusal('invalid_response', new Error('The assertion holds two different email addresses.'));
  }
  const [address = configuredAttributes.email === undefined ? normalizeClaimedEmail(nameId) : null] = addresses;
  const [name] = findValues(configuredAttributes.name === undefined ? NAME_ATTRIBUTES : [configuredAttributes.name]);
  const parts = [GIVEN_NAME_ATTRIBUTES, SURNAME_ATTRIBUTES].flatMap((names) => findValues(names).slice(0, 1));
  return { email: address, name: name ?? (configuredAttributes.name === undefined ? parts.join(' ') : undefined) };
}
