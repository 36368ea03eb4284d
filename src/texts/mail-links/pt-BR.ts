import type { MailLinkTexts } from './en.ts';

export const texts: MailLinkTexts = {
  name: 'Seu nome',
  password: 'Senha',
  newPassword: 'Nova senha',
  passwordRules:
    'Pelo menos 12 caracteres. Não pode ser uma das senhas mais comuns nem ser formada pelo seu nome, e-mail ou empresa.',
  show: 'Mostrar',
  hide: 'Ocultar',
  showPassword: 'Mostrar senha',
  hidePassword: 'Ocultar senha',
  sending: 'Um momento…',
  checkFields: 'Verifique o que está marcado acima.',

  invitation: {
    title: 'Aceitar um convite',
    join: (company) => `Participar de ${company}`,
    invited: (company, email) => [
      `Você recebeu um convite para participar de ${company} como `,
      email,
      '. Escolha uma senha para entrar.',
    ],
    invitedWithSso: (company, email) => [
      `Você recebeu um convite para participar de ${company} como `,
      email,
      '. Lá todos entram pelo provedor de identidade da empresa; mesmo assim uma senha é definida, para o caso de isso mudar.',
    ],
    goodUntil: (time) => `O convite vale até ${time}.`,
    action: 'Participar',
    done: (company) => `Boas-vindas a ${company}`,
    doneText: 'Sua senha foi definida. Você já pode entrar.',
    dead: 'Este convite não pode ser usado',
    deadWhy: 'Ele já foi aceito, expirou ou foi substituído por um mais novo.',
    deadWhatNow:
      'Você já o aceitou? Então entre ou defina uma nova senha. Se não, peça um novo convite a quem convidou você.',
    incomplete: 'Falta uma parte do link. Abra de novo o link do e-mail de convite ou copie-o inteiro.',
  },

  reset: {
    title: 'Definir uma nova senha',
    intro: (company, email) => [
      'Para ',
      email,
      ` em ${company}. Quando ela for definida, todas as suas sessões serão encerradas.`,
    ],
    action: 'Definir senha',
    done: 'Sua nova senha foi definida',
    doneText: 'Todas as suas sessões foram encerradas. Entre com a nova senha.',
    dead: 'Este link não pode ser usado',
    deadWhy: 'Ele já foi usado, expirou ou foi substituído por um mais novo. Peça outro:',
    request: 'Enviamos um link com o qual você escolhe uma nova senha.',
    requestAction: 'Enviar link',
    requested: 'Verifique seu e-mail',
    requestedText: (email) => [
      'Se ',
      email,
      ' puder entrar com senha, um link está a caminho desse endereço. Ele funciona uma única vez, por uma hora.',
    ],
    ssoOnly: 'Não há senha para definir',
  },

  bySso: (company) => `Entre pelo provedor de identidade de ${company}.`,
  secondFactor: 'Ao entrar pela primeira vez, você configura um segundo fator, como um aplicativo que mostra códigos.',
  appsAsk: 'Os aplicativos que usam este sistema pedem estes dados e a sua senha:',
  company: 'Empresa',
  server: 'Servidor',
  howToSignIn: 'Como os aplicativos entram',
};
