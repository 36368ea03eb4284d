import { createCountFormatter } from '../plurals.ts';
import type { MailTexts } from './en.ts';

const formatCount = createCountFormatter('pt-BR');
const formatMinutes = (count: number) => formatCount(count, { one: 'minuto', many: 'de minutos', other: 'minutos' });
const formatDays = (count: number) => formatCount(count, { one: 'dia', many: 'de dias', other: 'dias' });

export const texts: MailTexts = {
  greeting: (name) => (name === '' ? 'Olá,' : `Olá, ${name},`),
  yes: 'Sim',
  no: 'Não',
  aCompany: 'uma empresa',
  somebody: 'Alguém',
  aServiceAccount: 'Uma conta de serviço',
  codeRules: (minutes) => `Ele funciona uma única vez, por ${formatMinutes(minutes)}. Um código mais novo o substitui.`,

  signInCode: {
    subject: (company) => `Seu código de acesso a ${company}`,
    before: (company) => `Este é o seu código para entrar em ${company}:`,
    unasked:
      'Você não pediu um código? Então outra pessoa digitou o seu endereço. Ninguém consegue entrar sem o código: não o informe a ninguém e não será preciso fazer mais nada.',
  },
  portalCode: {
    subject: (company) => `Seu código para os painéis de ${company}`,
    before: (company) => `Este é o seu código para ver os painéis que ${company} compartilha com você:`,
    unasked:
      'Você não pediu um código? Então outra pessoa digitou o seu endereço. Sem o código ninguém tem acesso: não o informe a ninguém e não será preciso fazer mais nada.',
  },
  passwordReset: {
    subject: (company) => `Defina uma nova senha para ${company}`,
    before: (company) => `Abra este link para definir uma nova senha para ${company}:`,
    label: 'Definir nova senha',
    rules: (minutes) =>
      `Ele funciona uma única vez, por ${formatMinutes(minutes)}. Quando a nova senha for definida, todas as suas sessões serão encerradas.`,
    unasked:
      'Você não pediu isto? Então outra pessoa digitou o seu endereço. Sua senha continua a mesma: exclua este e-mail e não será preciso fazer mais nada.',
  },
  invitation: {
    subject: (company) => `Convite para participar de ${company}`,
    before: (inviter, company) =>
      `${inviter} convidou você para participar de ${company}. Abra este link para escolher uma senha e entrar:`,
    label: (company) => `Participar de ${company}`,
    rules: (days) => `Ele funciona uma única vez, por ${formatDays(days)}. Um convite mais novo o substitui.`,
    unasked:
      'Não sabe de quem é este convite? Então exclua este e-mail: nenhuma conta pode ser usada enquanto o link não for aberto.',
  },
  notice: {
    subject: (company) => `A forma de entrar em ${company} foi alterada`,
    events: {
      sso_changed: (by, company, time) =>
        `${by} definiu o provedor de identidade usado para entrar em ${company}, em ${time}.`,
      sso_removed: (by, company, time) =>
        `${by} removeu o provedor de identidade que era usado para entrar em ${company}, em ${time}.`,
      social_changed: (by, company, time) => `${by} definiu os provedores de login que ${company} aceita, em ${time}.`,
    },
    why: 'Quem controla um provedor pode entrar como qualquer pessoa cujo endereço ele confirme. Você está recebendo este e-mail porque é proprietário(a) ou administrador(a).',
    unmeant:
      'Isto não deveria ter acontecido? Então defina o provedor correto no console, encerre as sessões de quem fez a alteração e verifique a trilha de auditoria.',
  },
  webhookDisabled: {
    subject: (company) => `Um endpoint de webhook de ${company} foi desativado`,
    reasons: {
      gone: (host, company) =>
        `O endpoint de webhook de ${company} em ${host} foi desativado: ele respondeu que não existe mais (410).`,
      failing: (host, company) =>
        `O endpoint de webhook de ${company} em ${host} foi desativado: por dias, ele só respondeu com falhas.`,
    },
    rules:
      'Nada é enviado a ele até que alguém defina seu status como ativo. O que falhou pode então ser reenviado por 30 dias. Você recebe este e-mail porque é proprietário ou administrador.',
  },
  security: {
    changes: {
      password_changed: {
        subject: 'Sua senha foi alterada',
        sentence: (company) => `Sua senha de ${company} foi alterada.`,
      },
      second_factor_enabled: {
        subject: 'Seu segundo fator foi ativado',
        sentence: (company) =>
          `A partir de agora, para entrar em ${company}, é preciso um código do seu aplicativo autenticador.`,
      },
      second_factor_disabled: {
        subject: 'Seu segundo fator foi desativado',
        sentence: (company) => `Para entrar em ${company}, não é mais preciso um segundo fator.`,
      },
      second_factor_reset: {
        subject: 'Seu segundo fator foi removido',
        sentence: (company) => `Um administrador de ${company} removeu o seu segundo fator.`,
      },
      backup_codes_renewed: {
        subject: 'Você tem novos códigos de recuperação',
        sentence: (company) =>
          `Um novo conjunto de códigos de recuperação foi gerado para a sua conta em ${company}; os antigos deixaram de funcionar.`,
      },
      passkey_added: {
        subject: 'Você tem uma nova chave de acesso',
        sentence: (company) =>
          `Uma chave de acesso foi adicionada à sua conta em ${company}. Com ela, você entra sem senha.`,
      },
      passkey_renamed: {
        subject: 'Uma chave de acesso sua foi renomeada',
        sentence: (company) => `Uma chave de acesso da sua conta em ${company} agora tem outro nome.`,
      },
      passkey_removed: {
        subject: 'Uma chave de acesso sua foi excluída',
        sentence: (company) =>
          `Uma chave de acesso da sua conta em ${company} foi excluída. Ninguém mais entra com ela.`,
      },
    },
    sessions: 'Nos outros lugares em que você estava conectado(a), será preciso entrar novamente.',
    unmeant: 'Não foi você? Então defina uma nova senha imediatamente e avise um administrador da sua empresa.',
  },
  letIn: {
    subject: (company) => `Um programa recebeu acesso: ${company}`,
    before: (program, company, time) =>
      `Em ${time}, “${program}” recebeu acesso a ${company} em seu nome. Ele pode fazer o que você autorizou, enquanto continuar usando o acesso.`,
    from: (host) => `Ele diz vir de: ${host}`,
    after:
      'Não foi você? Então encerre o acesso imediatamente, defina uma nova senha e avise um administrador da sua empresa.',
  },
  schedule: {
    subject: (name, company) => `${name} · ${company}`,
    aReport: 'Um relatório',
    before: (name, company, time) => `Este é “${name}” de ${company}, com os dados de ${time}.`,
    alert: (name, company, time) => `A condição de “${name}” de ${company} foi atendida, com os dados de ${time}.`,
    empty: 'Nenhuma linha.',
    failed: 'Não foi possível calcular este item.',
    notShown: 'Você não tem acesso a este item.',
    moreRows: (count) => `Mais ${formatCount(count, { one: 'linha', other: 'linhas' })}.`,
    atLeastMoreRows: (count) => `Mais de ${formatCount(count, { one: 'outra linha', other: 'outras linhas' })}.`,
    moreColumns: (count) => `Mais ${formatCount(count, { one: 'coluna', other: 'colunas' })}.`,
    leftOut: (names) => `Fora deste e-mail, que ficaria longo demais: ${names}.`,
    attached: (names) => `Em anexo: ${names}.`,
    cut: 'O arquivo tem apenas as primeiras linhas.',
    tooLarge: (names, mebibytes) =>
      `Grande demais para um e-mail, cujos arquivos podem ter ${mebibytes} MiB ao todo: ${names}.`,
    seeAll: 'Ver tudo',
    noFiles: 'Você pode ver isto, mas não baixar: aqui está o resumo no lugar dos arquivos.',
    why: (company) => `Você recebe este e-mail porque alguém de ${company} o agendou para você.`,
    unsubscribe: 'Cancelar o recebimento',
  },
  scheduleConsent: {
    subject: (company) => `Você quer receber e-mails de ${company}?`,
    before: (company) =>
      `Alguém de ${company} quer enviar relatórios a você por e-mail. Abra este link se quiser recebê-los:`,
    label: 'Responder sim ou não',
    otherwise: (company) =>
      `Se você não fizer nada, ${company} não enviará relatórios e a pergunta não será repetida. Você não conhece ${company}? Então exclua este e-mail.`,
    why: (company) => `Você recebe este e-mail uma única vez, porque alguém de ${company} informou o seu endereço.`,
    never: 'Nunca receber relatórios desta empresa',
  },
  schedulePaused: {
    subject: (name, company) => `“${name}” está em pausa · ${company}`,
    before: (name, company) =>
      `“${name}”, que você agendou em ${company}, falhou três vezes seguidas. Está em pausa: ninguém mais o recebe.`,
    beforeToAdministrators: (name, company) =>
      `“${name}”, um envio agendado de ${company}, falhou três vezes seguidas. Está em pausa: ninguém mais o recebe.`,
    problems: {
      target_deleted: 'O que ele envia foi excluído.',
      left: 'Um destinatário saiu da empresa.',
      not_allowed: 'Um destinatário não tem acesso ao que ele envia.',
      parameters: 'Seus parâmetros não servem mais para o que ele envia.',
      query_failed: 'Não foi possível calcular o que ele envia.',
      condition_failed: 'Não foi possível verificar sua condição: a coluna não existe mais ou tem outro tipo.',
      unavailable: 'Não foi possível acessar o banco de dados.',
      mail_refused: 'O serviço de e-mail não aceitou a mensagem.',
      unconfirmed: 'O serviço de e-mail não disse se aceitou a mensagem.',
    },
    what: 'Corrija-o no console e depois ative-o de novo.',
    whyAdministrators:
      'Você recebe este e-mail porque é proprietário ou administrador, e quem o agendou não recebe e-mail: é um programa ou um usuário inativo.',
  },
  pages: {
    unsubscribe: {
      title: 'Cancelar o recebimento',
      question: 'Você não quer mais receber este e-mail?',
      questionAll: (company) => `Você quer não receber mais nenhum relatório de ${company} por e-mail?`,
      button: 'Cancelar o recebimento',
      buttonAll: (company) => `Cancelar todos os relatórios de ${company}`,
      done: 'Pronto: você não receberá mais este e-mail.',
      doneAll: (company) => `Pronto: você não receberá mais relatórios de ${company} por e-mail.`,
      unknown: 'Não há nada a cancelar: este link está incompleto ou você não está mais na lista.',
    },
    consent: {
      title: 'Relatórios por e-mail',
      question: (company) =>
        `${company} gostaria de enviar relatórios a você por e-mail. Você quer recebê-los? Cada um pode ser cancelado com um clique.`,
      yes: 'Sim, quero recebê-los',
      no: (company) => `Não, nunca de ${company}`,
      done: (company) =>
        `Agradecemos: a partir de agora, ${company} pode enviar relatórios a você. Cada um tem um link para cancelar.`,
      unknown: 'Não há nada a responder aqui: este link está incompleto ou você cancelou estes e-mails.',
    },
  },
};
