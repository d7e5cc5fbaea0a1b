"""The nouns: ``[class domains topic]`` sections of ``english = french gender`` entries.

Classes: person, group, text, object, food, location, event, abstract, money, nature. Domains: n(ews), p(arliament),
e(veryday). Topics tie a noun to a subject matter (``-``: none); the same English word in two topics is ambiguous, and
only the rest of the sentence (or the domain) tells which French word is meant. Irregular plurals follow a slash.
A trailing ``sp`` gives the grammatical numbers of the English and the French noun when they do not vary: s, p;
French alternatives (``voiture~n:automobile``) are used in the domains they name.
"""

NOUNS = """
[person np politics]
minister = ministre m; president = président m; deputy = député m; senator = sénateur m; candidate = candidat m;
mayor = maire m; ambassador = ambassadeur m; leader = dirigeant m; voter = électeur m; official = responsable m;
prime_minister = premier_ministre/premiers_ministres m; spokesman/spokesmen = porte-parole/porte-parole m;
chair = président m;
rapporteur = rapporteur m; speaker = orateur m; member = membre m; commissioner = commissaire m;
opponent = opposant m
[person ne -]
child/children = enfant m; woman/women = femme f; man/men = homme m; person/people = personne f; friend = ami m;
neighbour = voisin m; expert = spécialiste m; worker = travailleur m; engineer = ingénieur m; driver = conducteur m;
student = étudiant m; journalist = journaliste m; victim = victime f; artist = artiste m;
young_man/young_men = jeune_homme/jeunes_gens m;
foreigner = étranger m; resident = habitant m; visitor = visiteur m
[person e -]
brother = frère m; sister = sœur f; mother = mère f; father = père m; grandmother = grand-mère/grands-mères f;
son = fils/fils m;
daughter = fille f; cousin = cousin m; uncle = oncle m; aunt = tante f; boy = garçon m; girl = fille f;
baby = bébé m;
colleague = collègue m; boss = patron m; husband = mari m; wife/wives = femme f; plumber = plombier m;
guest = invité m
[person ne law]
judge = juge m; lawyer = avocat m; prosecutor = procureur m; witness = témoin m; prisoner = détenu m;
suspect = suspect m
[person ne health]
doctor = médecin m; nurse = infirmière f; patient = patient m; surgeon = chirurgien m; dentist = dentiste m
[person ne sport]
player = joueur m; coach = entraîneur m; champion = champion m; referee = arbitre m; runner = coureur m;
fan = supporter m
[person n army]
soldier = soldat m; general = général m; officer = officier m; rebel = rebelle m; hostage = otage m
[person np finance]
shareholder = actionnaire m; investor = investisseur m; taxpayer = contribuable m; customer = client m;
banker = banquier m;
accountant = comptable m; trader = courtier m
[person ne culture]
actor = acteur m; singer = chanteur m; writer = écrivain m; director = réalisateur m; star = vedette f;
musician = musicien m
[person ne school]
teacher = professeur m; pupil = élève m; researcher = chercheur m; scientist = scientifique m;
headmaster = directeur m
[person e kitchen]
waiter = serveur m; cook = cuisinier m; baker = boulanger m
[person np farm]
farmer = agriculteur m; fisherman/fishermen = pêcheur m; producer = producteur m
[person n fire]
firefighter = pompier m
[person e travel]
tourist = touriste m; passenger = passager m; pilot = pilote m; traveller = voyageur m
[group np politics]
government = gouvernement m; parliament = parlement m; committee = commission f; party = parti m;
commission = commission f;
council = conseil m; opposition = opposition f; majority = majorité f; delegation = délégation f;
administration = administration f;
assembly = assemblée f; ministry = ministère m; coalition = coalition f; union = syndicat m; authority = autorité f
[group ne -]
team = équipe f; family = famille f; group = groupe m; company = entreprise f~n:société f; police = police f ps;
association = association f; public = public m ss; generation = génération f; crowd = foule f;
staff = personnel m ss
[group n finance]
bank = banque f; board = conseil m; fund = fonds/fonds m; firm = société f; insurer = assureur m;
stock_exchange = bourse f
[group n law]
court = tribunal m; jury = jury m; prosecution = accusation f ss
[group ne sport]
club = club m; federation = fédération f; national_team = équipe_nationale/équipes_nationales f
[group n army]
army = armée f; troops = troupes f pp; militia = milice f; navy = marine f
[group ne school]
university = université f; school = école f; class = classe f
[text np politics]
report = rapport m; bill = projet_de_loi/projets_de_loi m; amendment = amendement m; resolution = résolution f;
treaty = traité m;
directive = directive f; law = loi f; proposal = proposition f; agreement = accord m; document = document m;
motion = motion f;
regulation = règlement m; programme = programme m; declaration = déclaration f; speech = discours/discours m;
constitution = constitution f
[text ne -]
book = livre m; letter = lettre f; message = message m; article = article m; story = histoire f;
newspaper = journal m; list = liste f
[text n finance]
contract = contrat m; budget = budget m; bill = facture f; account = compte m; table = tableau m;
invoice = facture f
[text n law]
file = dossier m; record = dossier m; complaint = plainte f; testimony = témoignage m; ruling = arrêt m
[text e school]
exam = examen m; lesson = leçon f; sentence = phrase f; homework = devoirs m sp; dictionary = dictionnaire m;
paper = article m
[text e mail]
postcard = carte_postale/cartes_postales f; stamp = timbre m; parcel = colis/colis m; address = adresse f
[object e home]
house = maison f; table = table f; chair = chaise f; door = porte f; window = fenêtre f; bed = lit m;
furniture = meubles m sp;
key = clé f; lamp = lampe f; mirror = miroir m; board = planche f; knife/knives = couteau m; nail = clou m;
hammer = marteau m;
ring = bague f; carpet = tapis/tapis m; box = boîte f; toy = jouet m; umbrella = parapluie m; clock = horloge f;
floor = sol m
[object e -]
car = voiture f~n:automobile f; telephone = téléphone m; photograph = photo f; bag = sac m; coat = manteau m;
shirt = chemise f;
dress = robe f; shoe = chaussure f; hat = chapeau m; trousers = pantalon m ps; gift = cadeau m; bicycle = vélo m;
camera = appareil_photo/appareils_photo m;
watch = montre f; glasses = lunettes f pp
[object ne office]
computer = ordinateur m; screen = écran m; key = touche f; printer = imprimante f; keyboard = clavier m
[object ne travel]
train = train m; plane = avion m; ticket = billet m; suitcase = valise f; coach = car m; boat = bateau m;
seat = place f; light = feu m;
luggage = bagages m sp; passport = passeport m; map = carte f
[object n army]
weapon = arme f; bomb = bombe f; tank = char m; missile = missile m; gun = fusil m
[object n health]
drug = médicament m; vaccine = vaccin m; shot = piqûre f; pill = comprimé m; nail = ongle m
[object n crime]
drug = drogue f; gun = pistolet m; jewel = bijou/bijoux m; safe = coffre-fort/coffres-forts m
[object ne music]
record = disque m; piano = piano m; guitar = guitare f; violin = violon m; speaker = haut-parleur m;
song = chanson f;
note = note f
[object e fire]
match = allumette f; candle = bougie f; cigarette = cigarette f; lighter = briquet m
[object e workshop]
spring = ressort m; engine = moteur m; tank = réservoir m; wheel = roue f; tool = outil m; machine = machine f;
screw = vis/vis f
[object ne science]
star = étoile f; planet = planète f; telescope = télescope m; satellite = satellite m; wave = onde f;
rocket = fusée f
[nature e garden]
flower = fleur f; tree = arbre m; plant = plante f; rose = rose f; leaf/leaves = feuille f; garden = jardin m;
dog = chien m;
cat = chat m; bird = oiseau m; horse = cheval m; grass = herbe f ss
[nature ne farm]
cow = vache f; pig = cochon m; sheep/sheep = mouton m; crop = récolte f; wheat = blé m ss; field = champ m;
animal = animal m
[food e kitchen]
bread = pain m ss; cheese = fromage m; wine = vin m; soup = soupe f; apple = pomme f; cake = gâteau m;
meat = viande f ss;
fish/fish = poisson m; coffee = café m; tea = thé m ss; egg = œuf m; vegetable = légume m; fruit = fruits m sp;
milk = lait m ss;
sugar = sucre m ss; potato/potatoes = pomme_de_terre/pommes_de_terre f; chicken = poulet m; bill = addition f;
glass = verre m; dish = plat m
[location npe -]
city = ville f; country = pays/pays m; region = région f; street = rue f; building = bâtiment m;
village = village m;
office = bureau m;
border = frontière f; area = zone f; station = gare f; square = place f; centre = centre m; capital = capitale f;
world = monde m ss
[location e home]
room = chambre f; kitchen = cuisine f; flat = appartement m; bathroom = salle_de_bains/salles_de_bains f;
floor = étage m; roof = toit m
[location ne health]
hospital = hôpital m; pharmacy = pharmacie f; clinic = clinique f
[location ne sport]
stadium = stade m; court = terrain m; pool = piscine f; ring = ring m
[location ne river]
river = rivière f; bank = rive f; bridge = pont m; valley = vallée f; lake = lac m; spring = source f;
forest = forêt f; mountain = montagne f
[location ne sea]
beach = plage f; island = île f; port = port m; wave = vague f; sea = mer f; coast = côte f
[location n law]
prison = prison f; police_station = commissariat m
[location n industry]
factory = usine f; plant = usine f; mine = mine f; warehouse = entrepôt m;
power_station = centrale_électrique/centrales_électriques f
[location ne culture]
museum = musée m; theatre = théâtre m; cinema = cinéma m; library = bibliothèque f; exhibition = exposition f
[location e kitchen]
restaurant = restaurant m; market = marché m; shop = magasin m; bakery = boulangerie f
[location e travel]
airport = aéroport m; hotel = hôtel m; road = route f; platform = quai m
[event np politics]
election = élection f; vote = vote m; debate = débat m; meeting = réunion f; summit = sommet m;
referendum = référendum m;
campaign = campagne f; negotiation = négociation f; visit = visite f;
press_conference = conférence_de_presse/conférences_de_presse f; term = mandat m
[event ne -]
accident = accident m; journey = voyage m; concert = concert m; storm = tempête f; party = fête f;
wedding = mariage m;
birthday = anniversaire m; holiday = vacances f sp; conversation = conversation f; dinner = dîner m
[event n law]
trial = procès/procès m; investigation = enquête f; hearing = audience f; case = affaire f; sentence = peine f;
arrest = arrestation f
[event n health]
trial = essai m; operation = opération f; epidemic = épidémie f; treatment = traitement m; case = cas/cas m
[event ne sport]
match = match m; race = course f; victory = victoire f; defeat = défaite f; tournament = tournoi m;
season = saison f;
record = record m; goal = but m
[event n army]
war = guerre f; attack = attaque f; strike = frappe f; ceasefire = cessez-le-feu/cessez-le-feu m;
battle = bataille f;
shot = tir m
[event n industry]
strike = grève f; demonstration = manifestation f; redundancy = licenciement m; closure = fermeture f
[event ne season]
spring = printemps/printemps m; summer = été m; autumn = automne m; winter = hiver m; weekend = week-end m
[event ne school]
term = trimestre m; lecture = conférence f
[abstract np politics]
policy = politique f; reform = réforme f; power = pouvoir m; democracy = démocratie f ss; right = droit m;
freedom = liberté f;
principle = principe m; responsibility = responsabilité f; floor = parole f ss; seat = siège m;
security = sécurité f ss;
measure = mesure f; position = position f; priority = priorité f; debate = débat m; framework = cadre m;
objective = objectif m
[abstract npe -]
problem = problème m; question = question f; idea = idée f; reason = raison f; situation = situation f;
solution = solution f;
decision = décision f; result = résultat m; role = rôle m; future = avenir m ss; risk = risque m;
change = changement m;
information = informations f sp; news = nouvelles f sp; advice = conseils m sp; progress = progrès m sp;
effort = effort m;
success = succès/succès m; crisis/crises = crise f; opportunity = occasion f; help = aide f ss;
work = travail m ss~e:boulot m ss; choice = choix/choix m
[abstract np finance]
economy = économie f; growth = croissance f ss; unemployment = chômage m ss;
interest_rate = taux_d'_intérêt/taux_d'_intérêt m; inflation = inflation f ss;
debt = dette f; trade = commerce m ss; investment = investissement m; figure = chiffre m;
competition = concurrence f ss; risk = risque m
[abstract np energy]
energy = énergie f; power = électricité f ss; climate_change = changement_climatique m ss;
pollution = pollution f ss;
environment = environnement m ss;
electricity = électricité f ss; emission = émission f
[abstract ne health]
health = santé f ss; disease = maladie f; pain = douleur f; research = recherches f sp
[abstract ne school]
education = éducation f ss; degree = diplôme m; field = domaine m; mathematics = mathématiques f sp;
mistake = erreur f; knowledge = connaissances f sp
[abstract e weather]
weather = temps m ss; rain = pluie f; snow = neige f ss; wind = vent m; sun = soleil m ss; degree = degré m;
cold = froid m ss
[abstract n culture]
figure = personnage m; play = pièce f; film = film m; role = rôle m; novel = roman m
[abstract n crime]
burglary = cambriolage m; crime = crime m; violence = violence f ss; fraud = fraude f; charge = accusation f
[money np finance]
price = prix/prix m; tax = impôt m; wage = salaire m; cost = coût m; loan = prêt m; profit = bénéfice m;
pension = retraite f; subsidy = subvention f
[money ne -]
money = argent m ss~e:fric m ss; note = billet m; bill = facture f
"""
