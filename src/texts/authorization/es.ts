import type { AuthorizationTexts } from './en.ts';

export const texts: AuthorizationTexts = {
  title: 'Dar acceso a un programa',
  wants: (program) => `${program} pide acceso`,

  companyAsked: '¿A qué empresa perteneces? Es el nombre corto con el que inicias sesión.',
  company: 'Empresa',
  next: 'Continuar',
  noSuchCompany: 'No existe esa empresa.',

  signIn: (company) => `Iniciar sesión en ${company}`,
  password: 'Contraseña',
  signInAction: 'Iniciar sesión',
  otherWays: 'Otras formas de iniciar sesión',
  mailCode: 'Recibir un código por correo',
  sso: 'Iniciar sesión con el proveedor de identidad',
  passkey: 'Iniciar sesión con una llave de acceso',
  passkeyAsked: 'Tu empresa exige un segundo paso, y el tuyo es la llave de acceso: inicia sesión con ella.',
  noPasskey: 'No se usó ninguna llave de acceso. Inténtalo de nuevo o inicia sesión de otra forma.',
  social: (host) => `Continuar con ${host}`,
  ssoOnly:
    'Aquí todos inician sesión con el proveedor de identidad; solo el propietario de la empresa tiene otra forma.',
  passwordInstead: 'Iniciar sesión como propietario',
  anotherCompany: 'Otra empresa',
  ssoFailed: 'El proveedor de identidad no inició tu sesión. Inténtalo de nuevo o habla con un administrador.',
  storageBlocked:
    'Tu navegador no deja que este sitio guarde datos, y esta forma lo necesita. Permítelo o inicia sesión de otra forma.',

  codeTitle: 'Revisa tu correo',
  codeSent: (email) => `Si ${email} puede iniciar sesión, un código está en camino. Sirve durante diez minutos.`,
  code: 'Código',

  factorTitle: 'Segundo paso',
  factorAsked: 'Escribe el código de tu aplicación de autenticación o uno de tus códigos de respaldo.',
  setupTitle: 'Configurar el segundo paso',
  setupAsked:
    'Tu empresa lo exige. Añade esta clave a una aplicación de autenticación y escribe el código que muestra.',
  setupKey: 'Clave',
  setupLink: 'Abrir en la aplicación',
  backupTitle: 'Tus códigos de respaldo',
  backupText: 'Guárdalos donde los encuentres sin tu teléfono. Cada uno sirve una vez; no se muestran de nuevo.',

  deviceTitle: 'Conectar un dispositivo',
  deviceAsked: 'Escribe el código que muestra el dispositivo o programa. Continúa solo si tú lo empezaste.',
  deviceCode: 'Código',

  consentTitle: (program) => `¿Dar acceso a ${program}?`,
  signedInAs: (email, company) => `Tienes la sesión iniciada en ${company} como ${email}.`,
  registered: (company) => `Registrado por los administradores de ${company}.`,
  fromHost: (host) => `Viene de ${host}.`,
  unknownHost: 'No se sabe de dónde viene.',
  warning:
    'Nadie ha comprobado este programa. Su nombre puede ser inventado: dale acceso solo si lo conoces y tú lo empezaste.',
  may: 'Podrá hacer esto, en la medida en que tú puedes:',
  onlyReads: 'Puede leer, y no cambia nada.',
  changes: 'También puede hacer cambios.',
  tools: 'Solo con las herramientas para agentes.',
  howLong: 'Mientras use el acceso, hasta que lo termines. Puedes hacerlo en cualquier momento.',
  allow: 'Dar acceso',
  deny: 'No dar acceso',

  doneTitle: 'Se dio el acceso',
  done: 'Puedes volver al dispositivo. Esta página se puede cerrar.',
  deniedTitle: 'No se dio el acceso',
  denied: 'Esta página se puede cerrar.',
  going: 'Vuelves al programa.',

  badTitle: 'No se puede continuar',
  badClient: 'El programa que te trajo aquí no se conoce. Quizá tenga que registrarse de nuevo.',
  badRedirect: 'El programa pide llevarte a una dirección que no ha registrado.',
  nothing: 'Empieza de nuevo en el programa al que quieres dar acceso.',

  failures: {
    INVALID_CREDENTIALS: 'El correo o la contraseña es incorrecto.',
    INVALID_CODE: 'El código es incorrecto o ha caducado.',
    INVALID_2FA_CODE: 'El código es incorrecto o ya se usó.',
    INVALID_SSO_CODE: 'El inicio de sesión tardó demasiado. Inténtalo de nuevo.',
    INVALID_PASSKEY: 'No se pudo verificar la llave de acceso. Inténtalo de nuevo o inicia sesión de otra forma.',
    SOCIAL_PROVIDER_UNSUITABLE:
      'Este proveedor de identidad no se puede usar en esta página. Inicia sesión de otra forma.',
    SSO_REQUIRED: 'Inicia sesión con el proveedor de identidad de tu empresa.',
    SSO_NOT_CONFIGURED: 'Esta empresa no tiene proveedor de identidad.',
    FORBIDDEN: 'No puedes hacer esto, o no en esta empresa.',
    COMPANY_SUSPENDED: 'Esta empresa está suspendida. No se ha perdido nada.',
    UNAUTHORIZED: 'Tu sesión terminó. Carga la página de nuevo.',
    OAUTH_REQUEST_ENDED: 'Esto ya se respondió o ha caducado. Empieza de nuevo en el programa.',
  },
};
