import type { AuthorizationTexts } from './en.ts';

export const texts: AuthorizationTexts = {
  title: 'Dar acesso a um programa',
  wants: (program) => `${program} pede acesso`,

  companyAsked: 'A que empresa você pertence? É o nome curto que você usa para entrar.',
  company: 'Empresa',
  next: 'Continuar',
  noSuchCompany: 'Essa empresa não existe.',

  signIn: (company) => `Entrar em ${company}`,
  password: 'Senha',
  signInAction: 'Entrar',
  otherWays: 'Outras formas de entrar',
  mailCode: 'Receber um código por e-mail',
  sso: 'Entrar com o provedor de identidade',
  passkey: 'Entrar com uma chave de acesso',
  passkeyAsked: 'Sua empresa exige uma segunda etapa, e a sua é a chave de acesso: entre com ela.',
  noPasskey: 'Nenhuma chave de acesso foi usada. Tente de novo ou entre de outra forma.',
  social: (host) => `Continuar com ${host}`,
  ssoOnly: 'Aqui todos entram pelo provedor de identidade; só o proprietário da empresa tem outra forma.',
  passwordInstead: 'Entrar como proprietário',
  anotherCompany: 'Outra empresa',
  ssoFailed: 'O provedor de identidade não autenticou você. Tente de novo ou fale com um administrador.',
  storageBlocked:
    'Seu navegador não deixa este site guardar dados, o que esta forma exige. Permita isso ou entre de outra forma.',

  codeTitle: 'Veja sua caixa de entrada',
  codeSent: (email) => `Se ${email} puder entrar, um código está a caminho. Ele vale por dez minutos.`,
  code: 'Código',

  factorTitle: 'Segunda etapa',
  factorAsked: 'Digite o código do seu aplicativo autenticador ou um dos seus códigos de reserva.',
  setupTitle: 'Configurar a segunda etapa',
  setupAsked:
    'Sua empresa exige isso. Adicione esta chave a um aplicativo autenticador e digite o código que ele mostra.',
  setupKey: 'Chave',
  setupLink: 'Abrir no aplicativo',
  backupTitle: 'Seus códigos de reserva',
  backupText: 'Guarde-os onde possa encontrá-los sem o celular. Cada um vale uma vez; não serão mostrados de novo.',

  deviceTitle: 'Conectar um dispositivo',
  deviceAsked: 'Digite o código que o dispositivo ou programa mostra. Só continue se foi você que começou isto.',
  deviceCode: 'Código',

  consentTitle: (program) => `Dar acesso a ${program}?`,
  signedInAs: (email, company) => `Você entrou em ${company} como ${email}.`,
  registered: (company) => `Registrado pelos administradores de ${company}.`,
  fromHost: (host) => `Ele vem de ${host}.`,
  unknownHost: 'Não se sabe de onde ele vem.',
  warning:
    'Ninguém verificou este programa. O nome pode ser inventado: só dê acesso se você o conhece e foi você que começou isto.',
  may: 'Ele poderá fazer isto, na medida em que você pode:',
  onlyReads: 'Ele pode ler, e não altera nada.',
  changes: 'Ele também pode fazer alterações.',
  tools: 'Apenas pelas ferramentas para agentes.',
  howLong: 'Enquanto ele usar o acesso, até você encerrá-lo. Você pode fazer isso a qualquer momento.',
  allow: 'Dar acesso',
  deny: 'Não dar acesso',

  doneTitle: 'O acesso foi dado',
  done: 'Você pode voltar ao dispositivo. Esta página pode ser fechada.',
  deniedTitle: 'O acesso não foi dado',
  denied: 'Esta página pode ser fechada.',
  going: 'Você está sendo levado(a) de volta ao programa.',

  badTitle: 'Não é possível continuar',
  badClient: 'O programa que trouxe você aqui não é conhecido. Talvez ele precise se registrar de novo.',
  badRedirect: 'O programa pede para levar você a um endereço que ele não registrou.',
  nothing: 'Comece de novo no programa ao qual você quer dar acesso.',

  failures: {
    INVALID_CREDENTIALS: 'O e-mail ou a senha está incorreto.',
    INVALID_CODE: 'O código está incorreto ou expirou.',
    INVALID_2FA_CODE: 'O código está incorreto ou já foi usado.',
    INVALID_SSO_CODE: 'A entrada demorou demais. Tente de novo.',
    INVALID_PASSKEY: 'Não foi possível verificar a chave de acesso. Tente de novo ou entre de outra forma.',
    SOCIAL_PROVIDER_UNSUITABLE: 'Este provedor de identidade não pode ser usado nesta página. Entre de outra forma.',
    SSO_REQUIRED: 'Entre com o provedor de identidade da sua empresa.',
    SSO_NOT_CONFIGURED: 'Esta empresa não tem provedor de identidade.',
    FORBIDDEN: 'Você não pode fazer isto, ou não nesta empresa.',
    COMPANY_SUSPENDED: 'Esta empresa está suspensa. Nada foi perdido.',
    UNAUTHORIZED: 'Sua sessão terminou. Carregue a página de novo.',
    OAUTH_REQUEST_ENDED: 'Isto já foi respondido ou expirou. Comece de novo no programa.',
  },
};
