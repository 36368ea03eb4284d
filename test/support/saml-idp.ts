// x509 needs it to be imported first.
import 'reflect-metadata';
import { createPrivateKey } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { SignedXml } from 'xml-crypto';

const EXCLUSIVE_C14N = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED_SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
export const RSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
export const SHA256 = 'http://www.w3.org/2001/04/xmlenc#sha256';
const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';

/** The content of an authentication request, as an identity provider reads it from the address. */
export interface AuthnRequest {
  id: string;
  issuer: string;
  acsUrl: string;
  relayState: string;
}

/** All values of a SAML response, of which a test changes what is to be wrong. Times in milliseconds. */
export interface SamlStatement {
  assertionId: string;
  issuer: string;
  /** The issuer of the response, where it differs from the issuer of the assertion. */
  responseIssuer?: string;
  email: string;
  nameIdFormat: string;
  /** The content of the NameID element, where it is not just the e-mail address. */
  nameId?: string;
  attributes: Record<string, string>;
  audience: string;
  recipient: string;
  method: string;
  responseInResponseTo: string;
  inResponseTo: string;
  notBefore: number;
  notOnOrAfter: number;
  /** End of the subject confirmation, in milliseconds; null leaves it out. */
  confirmedUntil: number | null;
  destination: string;
  /** Further conditions of the assertion, as XML. */
  conditions?: string;
}

/** A signing key and its certificate. */
export interface Signer {
  privateKey: string;
  certificate: string;
}

/** Creates an RSA key with a self-signed certificate, both in PEM form. */
export async function createSigner(modulusLength = 2048): Promise<Signer> {
  const keys = (await crypto.subtle.generateKey(
    { name: 'RSASSA-PKCS1-v1_5', modulusLength, publicExponent: new Uint8Array([1, 0, 1]), hash: 'SHA-256' },
    true,
    ['sign', 'verify'],
  )) as CryptoKeyPair;
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: 'CN=Identity provider of the tests',
    keys,
    notBefore: new Date(Date.now() - 86_400_000),
    notAfter: new Date(Date.now() + 86_400_000),
    // BoringSSL refuses a certificate with an empty list of extensions.
    extensions: [new BasicConstraintsExtension(true)],
    signingAlgorithm: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' },
  });
  const pkcs8 = (await crypto.subtle.exportKey('pkcs8', keys.privateKey)) as ArrayBuffer;
  const privateKey = createPrivateKey({ key: Buffer.from(pkcs8), format: 'der', type: 'pkcs8' });
  return {
    privateKey: privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
    certificate: certificate.toString('pem'),
  };
}

/** Reads the authentication request from the address that a person was redirected to. */
export function readAuthnRequest(url: URL): AuthnRequest {
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  const findMatch = (pattern: RegExp) => pattern.exec(xml)?.[1] ?? '';
  return {
    id: findMatch(/ ID="([^"]+)"/),
    issuer: findMatch(/<saml:Issuer[^>]*>([^<]+)</),
    acsUrl: findMatch(/AssertionConsumerServiceURL="([^"]+)"/),
    relayState: url.searchParams.get('RelayState') ?? '',
  };
}

/** Returns the statement of a correct response to a request. */
export function makeValidStatement(request: AuthnRequest, issuer: string, email: string): SamlStatement {
  const now = Date.now();
  return {
    assertionId: `_${crypto.randomUUID()}`,
    issuer,
    email,
    nameIdFormat: EMAIL_FORMAT,
    attributes: {},
    audience: request.issuer,
    recipient: request.acsUrl,
    method: 'urn:oasis:names:tc:SAML:2.0:cm:bearer',
    responseInResponseTo: request.id,
    inResponseTo: request.id,
    notBefore: now - 5000,
    notOnOrAfter: now + 60_000,
    confirmedUntil: now + 60_000,
    destination: request.acsUrl,
  };
}

const toIsoTime = (ms: number) => new Date(ms).toISOString();

/** Formats an unsigned assertion. */
export function formatAssertion(statement: SamlStatement): string {
  const attributes = Object.entries(statement.attributes).map(
    ([name, value]) =>
      `<saml:Attribute Name="${name}"><saml:AttributeValue>${value}</saml:AttributeValue></saml:Attribute>`,
  );
  const expiryAttribute =
    statement.confirmedUntil === null ? '' : ` NotOnOrAfter="${toIsoTime(statement.confirmedUntil)}"`;
  return [
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${statement.assertionId}" Version="2.0" IssueInstant="${toIsoTime(Date.now())}">`,
    `<saml:Issuer>${statement.issuer}</saml:Issuer>`,
    `<saml:Subject><saml:NameID Format="${statement.nameIdFormat}">${statement.nameId ?? statement.email}</saml:NameID>`,
    `<saml:SubjectConfirmation Method="${statement.method}"><saml:SubjectConfirmationData InResponseTo="${statement.inResponseTo}" Recipient="${statement.recipient}"${expiryAttribute}/></saml:SubjectConfirmation></saml:Subject>`,
    `<saml:Conditions NotBefore="${toIsoTime(statement.notBefore)}" NotOnOrAfter="${toIsoTime(statement.notOnOrAfter)}"><saml:AudienceRestriction><saml:Audience>${statement.audience}</saml:Audience></saml:AudienceRestriction>${statement.conditions ?? ''}</saml:Conditions>`,
    `<saml:AuthnStatement AuthnInstant="${toIsoTime(Date.now())}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
    attributes.length > 0 ? `<saml:AttributeStatement>${attributes.join('')}</saml:AttributeStatement>` : '',
    '</saml:Assertion>',
  ].join('');
}

/** Formats an unsigned response around `content`. */
export const formatResponse = (statement: SamlStatement, content: string, id = `_${crypto.randomUUID()}`): string =>
  [
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${id}" Version="2.0" IssueInstant="${toIsoTime(Date.now())}" Destination="${statement.destination}" InResponseTo="${statement.responseInResponseTo}">`,
    `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${statement.responseIssuer ?? statement.issuer}</saml:Issuer>`,
    '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>',
    content,
    '</samlp:Response>',
  ].join('');

/** Signs the only element of this name as providers do: enveloped, right after the issuer. */
export function signElement(
  xml: string,
  element: 'Assertion' | 'Response',
  signer: Signer,
  algorithms: { signature: string; digest: string } = { signature: RSA_SHA256, digest: SHA256 },
): string {
  const signature = new SignedXml({
    privateKey: signer.privateKey,
    publicCert: signer.certificate,
    signatureAlgorithm: algorithms.signature,
    canonicalizationAlgorithm: EXCLUSIVE_C14N,
  });
  const xpath = `//*[local-name(.)='${element}']`;
  signature.addReference({
    xpath,
    transforms: [ENVELOPED_SIGNATURE, EXCLUSIVE_C14N],
    digestAlgorithm: algorithms.digest,
  });
  signature.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `${xpath}/*[local-name(.)='Issuer']`, action: 'after' },
  });
  return signature.getSignedXml();
}

export const encodeBase64 = (xml: string): string => Buffer.from(xml).toString('base64');
