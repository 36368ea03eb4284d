// x509 needs it to be imported first.
import 'reflect-metadata';
import { createPrivateKey } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';
import { BasicConstraintsExtension, X509CertificateGenerator } from '@peculiar/x509';
import { SignedXml } from 'xml-crypto';

const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#';
const ENVELOPED = 'http://www.w3.org/2000/09/xmldsig#enveloped-signature';
export const RSA_SHA256 = 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256';
export const SHA256 = 'http://www.w3.org/2001/04/xmlenc#sha256';
const EMAIL_FORMAT = 'urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress';

/** What an authentication request asks, as an identity provider reads it from the address. */
export interface AuthnRequest {
  id: string;
  issuer: string;
  acsUrl: string;
  relayState: string;
}

/** Everything a response says; a test changes what it wants to be wrong. Times in milliseconds. */
export interface Statement {
  assertionId: string;
  issuer: string;
  /** The issuer of the response, where it is not that of the assertion. */
  responseIssuer?: string;
  email: string;
  nameIdFormat: string;
  /** The NameID element's content, where it is not just the email. */
  nameId?: string;
  attributes: Record<string, string>;
  audience: string;
  recipient: string;
  method: string;
  responseInResponseTo: string;
  inResponseTo: string;
  notBefore: number;
  notOnOrAfter: number;
  /** End of the subject confirmation; null leaves it out. */
  confirmedUntil: number | null;
  destination: string;
  /** Further conditions, as XML. */
  conditions?: string;
}

/** A signing key and its certificate. */
export interface Signer {
  privateKey: string;
  certificate: string;
}

/** A fresh RSA key with a self-signed certificate, both in PEM form. */
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

/** Reads the address that a person was sent to. */
export function readAuthnRequest(url: URL): AuthnRequest {
  const xml = inflateRawSync(Buffer.from(url.searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
  const found = (pattern: RegExp) => pattern.exec(xml)?.[1] ?? '';
  return {
    id: found(/ ID="([^"]+)"/),
    issuer: found(/<saml:Issuer[^>]*>([^<]+)</),
    acsUrl: found(/AssertionConsumerServiceURL="([^"]+)"/),
    relayState: url.searchParams.get('RelayState') ?? '',
  };
}

/** What a right answer to a request says. */
export function makeValidStatement(request: AuthnRequest, issuer: string, email: string): Statement {
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

/** An assertion, unsigned. */
export function formatAssertion(said: Statement): string {
  const attributes = Object.entries(said.attributes).map(
    ([name, value]) =>
      `<saml:Attribute Name="${name}"><saml:AttributeValue>${value}</saml:AttributeValue></saml:Attribute>`,
  );
  const until = said.confirmedUntil === null ? '' : ` NotOnOrAfter="${toIsoTime(said.confirmedUntil)}"`;
  return [
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${said.assertionId}" Version="2.0" IssueInstant="${toIsoTime(Date.now())}">`,
    `<saml:Issuer>${said.issuer}</saml:Issuer>`,
    `<saml:Subject><saml:NameID Format="${said.nameIdFormat}">${said.nameId ?? said.email}</saml:NameID>`,
    `<saml:SubjectConfirmation Method="${said.method}"><saml:SubjectConfirmationData InResponseTo="${said.inResponseTo}" Recipient="${said.recipient}"${until}/></saml:SubjectConfirmation></saml:Subject>`,
    `<saml:Conditions NotBefore="${toIsoTime(said.notBefore)}" NotOnOrAfter="${toIsoTime(said.notOnOrAfter)}"><saml:AudienceRestriction><saml:Audience>${said.audience}</saml:Audience></saml:AudienceRestriction>${said.conditions ?? ''}</saml:Conditions>`,
    `<saml:AuthnStatement AuthnInstant="${toIsoTime(Date.now())}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>`,
    attributes.length > 0 ? `<saml:AttributeStatement>${attributes.join('')}</saml:AttributeStatement>` : '',
    '</saml:Assertion>',
  ].join('');
}

/** A response around what is given, unsigned. */
export const formatResponse = (said: Statement, content: string, id = `_${crypto.randomUUID()}`): string =>
  [
    `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ID="${id}" Version="2.0" IssueInstant="${toIsoTime(Date.now())}" Destination="${said.destination}" InResponseTo="${said.responseInResponseTo}">`,
    `<saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${said.responseIssuer ?? said.issuer}</saml:Issuer>`,
    '<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>',
    content,
    '</samlp:Response>',
  ].join('');

/** Signs the one element of this name, the way providers do: enveloped, right after the issuer. */
export function sign(
  xml: string,
  element: 'Assertion' | 'Response',
  signer: Signer,
  algorithms: { signature: string; digest: string } = { signature: RSA_SHA256, digest: SHA256 },
): string {
  const signature = new SignedXml({
    privateKey: signer.privateKey,
    publicCert: signer.certificate,
    signatureAlgorithm: algorithms.signature,
    canonicalizationAlgorithm: EXCLUSIVE,
  });
  const xpath = `//*[local-name(.)='${element}']`;
  signature.addReference({ xpath, transforms: [ENVELOPED, EXCLUSIVE], digestAlgorithm: algorithms.digest });
  signature.computeSignature(xml, {
    prefix: 'ds',
    location: { reference: `${xpath}/*[local-name(.)='Issuer']`, action: 'after' },
  });
  return signature.getSignedXml();
}

export const encodeBase64 = (xml: string): string => Buffer.from(xml).toString('base64');
