"""Adjectives, adverbs and nouns used as modifiers.

Adjectives: ``english = french position classes``, the French as a masculine (feminine and plural by rule) or as
``m/f/mp/fp`` where irregular, position ``pre`` or ``post`` of the noun, classes the first letters of the noun classes
it goes with (p g t o f l e a m n, ``*`` any). An English adjective listed twice is translated by the noun it qualifies.
"""

ADJECTIVES = """
[npe]
new = nouveau|nouvel/nouvelle/nouveaux/nouvelles pre *
important = important post tleamgp
big = grand pre pgla
big = gros/grosse/gros/grosses pre ofnem
old = vieux|vieil/vieille/vieux/vieilles pre pnolt
old = ancien post gea
young = jeune pre pn
good = bon/bonne/bons/bonnes pre *
bad = mauvais pre *
long = long/longue/longs/longues pre tel
large = grand pre gloem
small = petit pre *
beautiful = beau|bel/belle/beaux/belles pre polnfe
first = premier/première/premiers/premières pre *
last = dernier/dernière/derniers/dernières pre *
other = autre pre *
same = même pre *
great = grand pre pea
difficult = difficile post apte
strong = fort post pgam
poor = pauvre pre p
poor = médiocre post team
rich = riche post pgl
famous = célèbre post pgtl
simple = simple post ate
serious = grave post ea
serious = sérieux/sérieuse/sérieux/sérieuses post pgt
dangerous = dangereux/dangereuse/dangereux/dangereuses post ponlea
expensive = cher/chère/chers/chères post ofe
free = libre post pgl
free = gratuit post ofe
final = définitif post te
different = différent post *
clear = clair post ate
local = local post pgle
next = prochain post e
real = véritable pre aep
strange = étrange post *
[np]
important = majeur post tea
famous = réputé post pgtl
clear = net/nette/nets/nettes post ate
political = politique post pgtea
economic = économique post gtea
public = public/publique/publics/publiques post glamt
national = national post pgtlea
international = international/internationale/internationaux/internationales post pgtea
legal = juridique post pgtea
financial = financier post pgtea
social = social post pgtea
European = européen post pgtlea
French = français/française/français/françaises post pgtle
German = allemand post pgtle
British = britannique post pgtle
American = américain post pgtle
Canadian = canadien post pgtle
Russian = russe post pgtle
Chinese = chinois/chinoise/chinois/chinoises post pgtle
annual = annuel post tem
current = actuel post gteam
recent = récent post tea
main = principal post gtea
global = mondial post gea
military = militaire post gea
foreign = étranger/étrangère/étrangers/étrangères post pgle
independent = indépendant post pgt
necessary = nécessaire post ta
possible = éventuel post ea
urgent = urgent post tea
responsible = responsable post pg
effective = efficace post pgta
powerful = puissant post pgo
official = officiel post pgte
federal = fédéral post pgt
broad = large pre gea
vast = vaste pre lea
significant = considérable post aem
democratic = démocratique post pgtea
controversial = controversé post pgtea
[p]
honourable = honorable pre p
joint = commun post tea
parliamentary = parlementaire post pgte
binding = contraignant post t
fundamental = fondamental post a
legislative = législatif post tgea
transparent = transparent post gta
excellent = excellent pre t
mutual = mutuel post ae
sustainable = durable post a
[n]
former = ancien pre pg
injured = blessé post p
violent = violent post ea
massive = massif post ea
illegal = illégal post toea
anonymous = anonyme post pt
unexpected = inattendu post ea
wounded = blessé post p
nuclear = nucléaire post oleag
historic = historique post tlea
[e]
strange = bizarre post *
beautiful = joli pre olnft
difficult = dur post at
nice = gentil/gentille/gentils/gentilles post p
nice = joli pre olnft
little = petit pre ponfl
happy = heureux/heureuse/heureux/heureuses post pe
sad = triste post pte
tired = fatigué post p
hungry = affamé post pn
red = rouge post ofn
blue = bleu/bleue/bleus/bleues post on
green = vert post ofn
white = blanc/blanche/blancs/blanches post ofn
black = noir post onf
yellow = jaune post on
cold = froid post fl
warm = chaud post fol
delicious = délicieux/délicieuse/délicieux/délicieuses post f
broken = cassé post o
empty = vide post ol
dirty = sale post ol
clean = propre post ol
heavy = lourd post o
funny = drôle post pt
boring = ennuyeux/ennuyeuse/ennuyeux/ennuyeuses post pte
favourite = préféré post otf
stupid = stupide post pat
quiet = tranquille post plg
fresh = frais/fraîche/frais/fraîches post f
whole = entier post flt
lovely = charmant post ple
round = rond post o
"""

ADVERBS = """
[manner npe]
quickly = rapidement; slowly = lentement; carefully = soigneusement; easily = facilement; openly = ouvertement
[manner np]
immediately = aussitôt; strongly = énergiquement; firmly = fermement; strongly = vivement;
immediately = immédiatement; unanimously = à_l'_unanimité;
officially = officiellement;
publicly = publiquement; gradually = progressivement; sharply = fortement; clearly = clairement;
seriously = gravement; fully = pleinement
[manner e]
quickly = vite; quietly = doucement; happily = joyeusement; secretly = en_cachette; badly = mal; well = bien;
gladly = volontiers
[frequency np]
often = fréquemment; finally = finalement; also = également; really = réellement; just = tout_juste;
still = toujours
[frequency npe]
often = souvent; always = toujours; already = déjà; finally = enfin; also = aussi; still = encore;
probably = probablement;
really = vraiment; sometimes = parfois; recently = récemment; just = juste; only = seulement; rarely = rarement;
certainly = certainement
[degree np]
extremely = fort; particularly = tout_particulièrement
[degree npe]
very = très; too = trop; extremely = extrêmement; quite = assez; so = si; particularly = particulièrement;
rather = plutôt
[sentence npe]
however = cependant; unfortunately = malheureusement; of_course = bien_sûr; for_example = par_exemple;
in_fact = en_fait;
as_a_matter_of_fact = à_vrai_dire; on_the_other_hand = en_revanche; by_and_large = dans_l'_ensemble;
in_the_long_run = à_long_terme;
fortunately = heureusement; in_general = en_général; at_first_sight = à_première_vue;
for_the_time_being = pour_l'_instant
[sentence np]
however = toutefois; of_course = naturellement; in_fact = en_réalité; fortunately = par_bonheur;
moreover = de_plus; therefore = par_conséquent; first_of_all = tout_d'_abord; in_this_respect = à_cet_égard;
in_other_words = autrement_dit;
to_this_end = à_cette_fin; nevertheless = néanmoins; meanwhile = entre-temps;
according_to_the_polls = d'_après_les_sondages;
last_but_not_least = enfin_et_surtout; in_the_light_of_this = compte_tenu_de_cela
[sentence e]
of_course = évidemment; unfortunately = hélas; luckily = par_chance; to_be_honest = franchement; you_know = tu_sais;
all_of_a_sudden = tout_à_coup;
by_the_way = au_fait;
once_in_a_blue_moon = tous_les_trente-six_du_mois; anyway = de_toute_façon
"""

MODIFIER_NOUNS = """
[np]
oil = pétrolier; trade = commercial; tax = fiscal; energy = énergétique; weather = météorologique;
state = de_l'_État;
health = sanitaire;
climate = climatique; budget = budgétaire; defence = de_la_défense; peace = de_paix; research = de_recherche;
safety = de_sécurité;
labour = du_travail; consumer = des_consommateurs; housing = du_logement; fisheries = de_la_pêche;
border = frontalier; media = médiatique
[e]
family = familial; school = scolaire; birthday = d'_anniversaire; holiday = de_vacances; football = de_football;
kitchen = de_cuisine
"""
