"""The verbs: ``[frame domains]`` sections of ``english = french subjects>objects`` entries.

Frames: transitive, intransitive, dative (give something to somebody), clausal (say that ...), infinitive (want to ...),
swapped (``miss``/``manquer à``: the French subject is the English object), copula.
English: principal parts ``write/wrote/written``;
``_word`` is a preposition or fixed word after the verb (``look_at``),
``+word`` a particle that may follow the object (``put the meeting off``). French: ``se_`` marks a reflexive verb,
``_à``, ``_de`` ... a preposition before the object. Subjects and objects are first letters of noun classes.
An English verb in two entries is translated by what its subject or object is.
"""

VERBS = """
[transitive npe]
see/saw/seen = voir pg>pgtolen; find/found/found = trouver pg>tolpaf; know/knew/known = connaître p>pltae;
want = vouloir pg>tofam;
use = utiliser pg>otm; change = changer_de p>oal; change = modifier g>ta; read/read/read = lire p>t;
write/wrote/written = écrire p>t;
follow = suivre pg>pgte; visit = visiter p>l; visit = rendre_visite_à p>p; buy/bought/bought = acheter pg>of;
sell/sold/sold = vendre pg>of;
leave/left/left = quitter p>lgp; look_for = chercher pg>polfa; wait_for = attendre pg>ptea;
look_at = regarder p>pontl; listen_to = écouter pg>pe;
meet/met/met = rencontrer p>p; answer = répondre_à p>pt; need = avoir_besoin_de pg>omfpa;
talk_about = parler_de p>peaot; think/thought/thought_about = penser_à p>pea;
lose/lost/lost = perdre pg>ome; win/won/won = remporter pg>e; begin/began/begun = commencer pg>e;
finish = terminer pg>te; open = ouvrir pg>olt;
close = fermer pg>ol; show/showed/shown = montrer pgt>a; understand/understood/understood = comprendre pg>atp;
forget/forgot/forgotten = oublier p>poa;
save = sauver pn>pn; save = économiser pg>m; save = préserver g>la; save = enregistrer p>t;
build/built/built = construire pg>l; destroy = détruire eg>l;
pay/paid/paid = payer pg>m; pay/paid/paid_for = payer p>of; help = aider pg>pg; hear/heard/heard = entendre p>pe;
trust = faire_confiance_à pg>pg;
cross = traverser pg>l; raise = soulever pg>a; raise = élever p>pn; raise = augmenter pg>m;
keep/kept/kept = garder pg>otm; join = rejoindre p>pg;
explain = expliquer pgt>a; choose/chose/chosen = choisir pg>polta; lead/led/led = diriger p>g;
lead/led/led_to = mener_à ea>ae; cause = provoquer ea>ea;
carry+out = réaliser pg>e; give/gave/given+up = abandonner pg>ae; find/found/found+out = découvrir pg>a;
bring/brought/brought_about = entraîner eag>ae
[transitive np]
show/showed/shown = présenter pgt>a; finish = achever pg>te; reject = repousser pg>ta; support = appuyer pg>pgta;
use = employer pg>om; follow = respecter pg>t; begin/began/begun = entamer pg>e;
adopt = adopter pg>t; support = soutenir pg>pgta; reject = rejeter pg>ta; criticise = critiquer pg>pgta;
discuss = examiner pg>tae;
propose = proposer pgt>ta; approve = approuver pg>tae; announce = annoncer pg>team; sign = signer pg>t;
defend = défendre pg>pgta;
reduce = réduire pgt>ma; reduce = diminuer a>ma; improve = améliorer pgt>ae; protect = protéger pgt>pla;
achieve = atteindre pg>a; reach = parvenir_à pg>ta;
prepare = préparer pg>et; strengthen = renforcer pgt>ga; address = aborder pg>a; address = s'adresser_à p>pg;
accept = accepter pg>ta;
condemn = condamner pg>pe; organise = organiser pg>e; implement = mettre_en_œuvre pg>ta; attend = assister_à p>e;
take/took/taken_part_in = participer_à pg>e;
put/put/put+off = reporter pg>te; set/set/set+up = créer pg>g; turn+down = rejeter pg>ta;
draw/drew/drawn+up = élaborer pg>t; call_for = réclamer pg>ae;
deal/dealt/dealt_with = traiter_de gpt>ae; comply_with = respecter gp>t; vote_for = voter_pour p>pta;
run/ran/run = gérer pg>gl; run/ran/run_for = briguer p>a;
chair = présider p>eg; amend = modifier pg>t; monitor = surveiller pg>ael; publish = publier pg>t;
send/sent/sent = envoyer pg>pto;
oppose = s'opposer_à pg>tpae; fund = financer pg>eam; invest_in = investir_dans pg>glo;
withdraw/withdrew/withdrawn = retirer pg>tm; lift = lever pg>t
[transitive n]
arrest = arrêter g>p; kill = tuer pne>p; accuse = accuser pg>pg; charge = inculper g>p; charge = recharger p>o;
investigate = enquêter_sur pg>ea;
attack = attaquer pg>pgl; fire = licencier g>p; fire_at = tirer_sur p>pol; beat/beat/beaten = battre pg>pg;
free = libérer g>p; threaten = menacer pge>pgl;
sentence = condamner g>p; take/took/taken+over = reprendre g>g; hit/hit/hit = frapper e>lpg;
steal/stole/stolen = voler p>om; escape_from = s'évader_de p>l;
launch = lancer pg>eo; question = interroger pg>p; question = remettre_en_question pg>ta;
break/broke/broken = battre p>e
[transitive e]
use = se_servir_de p>o; look_for = rechercher p>po; throw/threw/thrown+away = se_débarrasser_de p>o;
eat/ate/eaten = manger pn>f; drink/drank/drunk = boire p>f; cook = préparer p>f; wear/wore/worn = porter p>o;
wash = laver p>of; break/broke/broken = casser p>o;
take/took/taken+off = enlever p>o; put/put/put+on = mettre p>o; pick+up = ramasser p>o;
throw/threw/thrown+away = jeter p>o; turn+on = allumer p>o; play_with = jouer_avec pn>on;
love = adorer p>pnfl; hate = détester p>pnfa; draw/drew/drawn = dessiner p>pno; clean = nettoyer p>ol;
repair = réparer p>o; borrow = emprunter p>omt; take/took/taken_care_of = s'occuper_de p>pnl;
remember = se_souvenir_de p>pea; make/made/made_fun_of = se_moquer_de p>p; make/made/made = faire p>f;
enjoy = apprécier p>fea; run/ran/run_into = tomber_sur p>p;
look+up = chercher p>a; hide/hid/hidden = cacher p>om; catch/caught/caught = attraper p>n;
feed/fed/fed = nourrir p>n;
miss = rater p>eo; get/got/got_rid_of = se_débarrasser_de p>on; hold/held/held = tenir p>on
[intransitive npe]
arrive = arriver pge; leave/left/left = partir p; come/came/come = venir pg; return = revenir p; die = mourir pn;
stay = rester p; begin/began/begun = commencer e; end = se_terminer e;
work = travailler p; work = fonctionner oa; change = changer pgla; fall/fell/fallen = tomber pon;
fall/fell/fallen = baisser ma; disappear = disparaître pon; wait = attendre p; speak/spoke/spoken = parler p;
grow/grew/grown = grandir pn; grow/grew/grown = augmenter am
[intransitive np]
increase = progresser am; decline = reculer am; rise/rose/risen = progresser am; begin/began/begun = débuter e;
resign = démissionner pg; fail = échouer peag; increase = augmenter am; react = réagir pg;
intervene = intervenir pg;
agree = être_d'_accord pg; decline = diminuer am; succeed = réussir pge; meet/met/met = se_réunir g;
rise/rose/risen = augmenter am; collapse = s'effondrer agl; take/took/taken_place = avoir_lieu e;
protest = protester pg; abstain = s'abstenir pg; stop = s'arrêter pe; run/ran/run+out = s'épuiser m;
step+down = démissionner p
[intransitive e]
sleep/slept/slept = dormir pn; laugh = rire p; cry = pleurer p; run/ran/run = courir pn; swim/swam/swum = nager pn;
dance = danser p; smile = sourire p; get/got/got+up = se_lever p; wake/woke/woken+up = se_réveiller p;
sing/sang/sung = chanter pn; hurry+up = se_dépêcher p; break/broke/broken+down = tomber_en_panne o;
calm+down = se_calmer pn; kick_the_bucket = casser_sa_pipe p; lie = mentir p
[dative npe]
give/gave/given = donner pg>oftm; send/sent/sent = envoyer pg>to; show/showed/shown = montrer p>tol;
offer = offrir pg>ofm; lend/lent/lent = prêter p>om; sell/sold/sold = vendre pg>of; tell/told/told = raconter p>t;
grant = accorder g>am; refuse = refuser pg>am; teach/taught/taught = enseigner p>a
[clausal npe]
say/said/said = dire pg; think/thought/thought = penser pg; believe = croire p; know/knew/known = savoir pg;
hope = espérer pg; explain = expliquer pg
[clausal np]
say/said/said = affirmer pg; say/said/said = indiquer pg; think/thought/thought = estimer pg; believe = estimer pg;
declare = déclarer pg; announce = annoncer pg; claim = prétendre pg; point+out = souligner pg;
acknowledge = reconnaître pg; confirm = confirmer pg; add = ajouter p; show/showed/shown = montrer t;
warn = avertir pg; deny = nier pg; feel/felt/felt = estimer pg
[clausal e]
guess = supposer p; hear/heard/heard = entendre_dire p; promise = promettre p; remember = se_rappeler p;
notice = remarquer p; dream = rêver p
[infinitive npe]
want = vouloir pg; try = essayer_de pg; decide = décider_de pg; begin/began/begun = commencer_à pg;
refuse = refuser_de pg; hope = espérer pg; need = devoir pg; continue = continuer_à pg; manage = réussir_à pg;
agree = accepter_de pg; be/was/been_about = être_sur_le_point_de pg
[infinitive np]
try = tenter_de pg; want = souhaiter pg;
intend = avoir_l'_intention_de pg; threaten = menacer_de pg; plan = prévoir_de pg; promise = promettre_de pg
[infinitive e]
forget/forgot/forgotten = oublier_de p; like = aimer p; learn = apprendre_à p; prefer = préférer p;
stop = cesser_de p; be/was/been_afraid = avoir_peur_de p; dare = oser p
[swapped e]
miss = manquer p>pnl; like = plaire p>olf
[copula npe]
be/was/been = être *
[copula np]
remain = rester *; become/became/become = devenir *; seem = sembler tae
[copula e]
look = avoir_l'_air p; seem = sembler *; stay = rester p; get/got/got = devenir p
"""

IDIOMS = """
[verbal npe]
take/took/taken_the_bull_by_the_horns = prendre_le_taureau_par_les_cornes pg; play_with_fire = jouer_avec_le_feu pg;
turn_a_blind_eye = fermer_les_yeux pg;
lose/lost/lost_ground = perdre_du_terrain pg; turn_the_page = tourner_la_page pg;
beat/beat/beaten_around_the_bush = tourner_autour_du_pot p;
lose/lost/lost_face = perdre_la_face pg
[verbal np]
sound_the_alarm = tirer_la_sonnette_d'_alarme pg; throw/threw/thrown_in_the_towel = jeter_l'_éponge pg;
break/broke/broken_the_deadlock = sortir_de_l'_impasse pg;
come/came/come_into_force = entrer_en_vigueur t; cut/cut/cut_corners = bâcler_le_travail pg;
pull_the_strings = tirer_les_ficelles p; drag_its_feet = traîner_les_pieds g;
gain_the_upper_hand = prendre_le_dessus pg; get/got/got_off_the_ground = prendre_son_envol ea;
make/made/made_headlines = faire_la_une peg
[verbal e]
cost/cost/cost_an_arm_and_a_leg = coûter_les_yeux_de_la_tête o; spill_the_beans = vendre_la_mèche p;
hit/hit/hit_the_sack = aller_se_coucher p;
have/had/had_a_sweet_tooth = aimer_les_sucreries p;
get/got/got_up_on_the_wrong_side_of_the_bed = se_lever_du_pied_gauche p; be/was/been_broke = être_sans_le_sou p;
stand/stood/stood_in_line = faire_la_queue p; sleep/slept/slept_in = faire_la_grasse_matinée p;
cry_over_spilt_milk = pleurer_sur_le_passé p; have/had/had_a_frog_in_the_throat = avoir_un_chat_dans_la_gorge p;
pull_a_long_face = faire_la_tête p
"""
