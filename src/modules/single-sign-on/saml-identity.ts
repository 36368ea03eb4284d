import type { SamlSettings } from '../../db/schema/single-sign-on.ts';
import { claimedEmail } from '../users/service.ts';
import { SignInRefusal } from './failures.ts';
import type { Identity } from './protocol.ts';
import type { VerifiedAssertion } from './saml-assertion.ts';

const CLAIMS = 'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/';
const FORMER_CLAIMS = 'http://schemas.xmlsoap.org/claims/';
const LDAP = 'urn:oid:';
const FORMER_LDAP = 'urn:mace:dir:attribute-def:';

/** The names under which providers send the address: in any case, so in lower case here, as all below. */
const EMAIL = [
  ...['mail', 'email', 'emailaddress', 'e-mail', 'email_address', 'user.email', 'user.mail', 'user.emailaddress'],
  ...[`${CLAIMS}emailaddress`, `${CLAIMS}email`, `${FORMER_CLAIMS}emailaddress`, `${FORMER_CLAIMS}email`],
  ...[`${LDAP}0.9.2342.19200300.100.1.3`, `${LDAP}1.2.840.113549.1.9.1`],
  ...[`${FORMER_LDAP}mail`, `${FORMER_LDAP}email`, `${FORMER_LDAP}emailaddress`],
];

const NAME = [
  ...['displayname', 'name', 'fullname', 'cn', 'user.displayname', 'user.name', 'user.fullname'],
  ...['http://schemas.microsoft.com/identity/claims/displayname', `${CLAIMS}displayname`],
  ...[`${FORMER_CLAIMS}displayname`, `${FORMER_CLAIMS}commonname`],
  ...[`${LDAP}2.16.840.1.113730.3.1.241`, `${LDAP}2.5.4.3`],
  ...[`${FORMER_LDAP}displayname`, `${FORMER_LDAP}cn`],
];

const GIVEN_NAME = [
  ...['givenname', 'given_name', 'firstname', 'first_name', 'user.firstname', 'user.givenname'],
  ...[`${CLAIMS}givenname`, `${FORMER_CLAIMS}givenname`, `${LDAP}2.5.4.42`, `${FORMER_LDAP}givenname`],
];

const SURNAME = [
  ...['surname', 'sn', 'familyname', 'family_name', 'lastname', 'last_name', 'user.lastname', 'user.surname'],
  ...[`${CLAIMS}surname`, `${FORMER_CLAIMS}surname`, `${LDAP}2.5.4.4`, `${FORMER_LDAP}sn`],
];

/**
 * The person of an assertion. The address is in the attribute that is configured; where none is, in one of a usual name, or
 * else it is the NameID.
 * @throws SignInRefusal where attributes hold two different addresses
 */
export function toIdentity(
  { nameId, attributes }: Pick<VerifiedAssertion, 'nameId' | 'attributes'>,
  configured: SamlSettings['attributes'] = {},
): Identity {
  const findValues = (names: readonly string[]) =>
    names.flatMap((name) => attributes.get(name.toLowerCase()) ?? []).filter((value) => value !== '');
  const emails = findValues(configured.email === undefined ? EMAIL : [configured.email]);
  const addresses = new Set(emails.flatMap((value) => claimedEmail(value) ?? []));
  if (addresses.size > 1) {
    throw new SignInRefusal('invalid_response', new Error('The assertion holds two different email addresses.'));
  }
  const [address = configured.email === undefined ? claimedEmail(nameId) : null] = addresses;
  const [name] = findValues(configured.name === undefined ? NAME : [configured.name]);
  const parts = [GIVEN_NAME, SURNAME].flatMap((names) => findValues(names).slice(0, 1));
  return { email: address, name: name ?? (configured.name === undefined ? parts.join(' ') : undefined) };
}
