package peers.webmvc;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Spring Cloud Gateway on Tomcat; its routes and limits, and whether threads are virtual, are given on the command line. */
@SpringBootApplication
public class Application {

    public static void main(String[] words) {
        SpringApplication.run(Application.class, words);
    }
}
